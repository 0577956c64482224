//! What has to be installed, into `target/upstreams/`.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use super::Unavailable;

/// A cold machine with a slow network takes a minute.
const AT_MOST: Duration = Duration::from_secs(300);
const PYTHON: &str = "install Python 3.10 or newer with pip";
const NODE: &str = "install Node.js 20 or newer with npm";

/// Packages that are installed together.
#[derive(Clone, Copy, Debug)]
pub(super) enum Package {
    Python1,
    Python2,
    TypeScript1,
    TypeScript2,
}

impl Package {
    /// A command that runs one of the scripts in `tests/upstreams/`, or one that is elsewhere.
    pub(super) fn command(
        self,
        script: impl AsRef<Path>,
    ) -> Result<tokio::process::Command, Unavailable> {
        let folder = self.install()?;
        let script = self.sources().join(script);
        Ok(match self {
            Self::Python1 | Self::Python2 => {
                let mut command = python(&folder);
                // The scripts' own folder stays as it is.
                command.arg(script).env("PYTHONPYCACHEPREFIX", folder.join("pycache"));
                command.env_remove("PYTHONDONTWRITEBYTECODE");
                command
            }
            Self::TypeScript1 | Self::TypeScript2 => {
                let mut command = tokio::process::Command::new("node");
                let line = if matches!(self, Self::TypeScript1) { "1" } else { "2" };
                command.arg(script).arg("--modules").arg(folder).args(["--sdk", line]);
                command
            }
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Python1 => "python-1",
            Self::Python2 => "python-2",
            Self::TypeScript1 => "typescript-1",
            Self::TypeScript2 => "typescript-2",
        }
    }

    /// The file that pins the versions.
    fn manifest(self) -> PathBuf {
        self.sources().join(match self {
            Self::Python1 => "requirements-1.txt",
            Self::Python2 => "requirements-2.txt",
            Self::TypeScript1 => "package-1.json",
            Self::TypeScript2 => "package-2.json",
        })
    }

    fn sources(self) -> PathBuf {
        let language = match self {
            Self::Python1 | Self::Python2 => "python",
            Self::TypeScript1 | Self::TypeScript2 => "typescript",
        };
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstreams").join(language)
    }

    /// Installs it, unless the same versions are there. Tests in other threads and processes wait
    /// for the one that does it; what was left half-done is done again.
    fn install(self) -> Result<PathBuf, Unavailable> {
        let hint = match self {
            Self::Python1 | Self::Python2 => PYTHON,
            Self::TypeScript1 | Self::TypeScript2 => NODE,
        };
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            Unavailable::new(format!("{what}: {error}"), hint)
        };
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("upstreams");
        fs::create_dir_all(&root).map_err(|error| failed("target/upstreams", &error))?;
        let lock = File::create(root.join(format!("{}.lock", self.name())))
            .and_then(|lock| lock.lock().map(|()| lock))
            .map_err(|error| failed("the lock of the installation", &error))?;

        let folder = root.join(self.name());
        let manifest = self.manifest();
        let wanted = fs::read_to_string(&manifest).map_err(|error| failed("versions", &error))?;
        let marker = folder.join("installed");
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted) {
            return Ok(folder);
        }
        match self {
            Self::Python1 | Self::Python2 => install_python(&folder, &manifest)?,
            Self::TypeScript1 | Self::TypeScript2 => install_node(&folder, &manifest)?,
        }
        fs::write(&marker, wanted).map_err(|error| failed("the marker", &error))?;
        drop(lock);
        Ok(folder)
    }
}

const PIP: &[&str] = &[
    "-m",
    "pip",
    "install",
    "--disable-pip-version-check",
    "--no-input",
    "--quiet",
    // What is imported is compiled then, which is a part of it.
    "--no-compile",
    "--requirement",
];

/// A virtual environment; where there is none to be had (Debian keeps `ensurepip` in a package of
/// its own), a folder of modules.
fn install_python(folder: &Path, requirements: &Path) -> Result<(), Unavailable> {
    empty(folder)?;
    let interpreter = interpreter()?;
    let made = run(Command::new(interpreter).args(["-m", "venv"]).arg(folder), PYTHON);
    let venv = made
        .and_then(|()| run(Command::new(venv_python(folder)).args(PIP).arg(requirements), PYTHON));
    let Err(no_venv) = venv else { return Ok(()) };
    empty(folder)?;
    let mut pip = Command::new(interpreter);
    pip.args(PIP).arg(requirements).arg("--target").arg(modules(folder));
    run(&mut pip, PYTHON).map_err(|no_target| {
        Unavailable::new(format!("{}; and {}", no_venv.what, no_target.what), PYTHON)
    })
}

fn install_node(folder: &Path, package: &Path) -> Result<(), Unavailable> {
    empty(folder)?;
    run(Command::new("node").arg("--version"), NODE)?;
    fs::copy(package, folder.join("package.json"))
        .map_err(|error| Unavailable::new(format!("package.json: {error}"), NODE))?;
    let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"])
        .args(["--loglevel=error", "--prefix"])
        .arg(folder)
        .current_dir(folder);
    run(&mut npm, NODE)
}

fn python(folder: &Path) -> tokio::process::Command {
    let in_venv = venv_python(folder);
    if in_venv.exists() {
        let mut command = tokio::process::Command::new(in_venv);
        command.env_remove("PYTHONPATH");
        return command;
    }
    let mut command = tokio::process::Command::new(interpreter().unwrap_or("python3"));
    command.env("PYTHONPATH", modules(folder));
    command
}

fn venv_python(folder: &Path) -> PathBuf {
    folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

fn modules(folder: &Path) -> PathBuf {
    folder.join("modules")
}

fn interpreter() -> Result<&'static str, Unavailable> {
    let works = |name: &&str| run(Command::new(name).arg("--version"), PYTHON).is_ok();
    let found = ["python3", "python"].into_iter().find(works);
    found.ok_or_else(|| Unavailable::new("there is no python3", PYTHON))
}

fn empty(folder: &Path) -> Result<(), Unavailable> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)
        .map_err(|error| Unavailable::new(format!("{}: {error}", folder.display()), "check target"))
}

/// Runs a step within its time. What it said is in the error.
fn run(step: &mut Command, hint: &'static str) -> Result<(), Unavailable> {
    let name = describe(step);
    let failed = |why: &str| Unavailable::new(format!("{name} failed: {why}"), hint);
    let said = tempfile(&name).map_err(|error| failed(&error.to_string()))?;
    let log = File::create(&said).and_then(|log| Ok((log.try_clone()?, log)));
    let (stdout, stderr) = log.map_err(|error| failed(&error.to_string()))?;
    let child = step.stdin(Stdio::null()).stdout(stdout).stderr(stderr).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            let _ = fs::remove_file(&said);
            return Err(failed(&error.to_string()));
        }
    };
    let deadline = Instant::now() + AT_MOST;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(20)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                break Err(format!("it took longer than {} s", AT_MOST.as_secs()));
            }
            Err(error) => break Err(error.to_string()),
        }
    };
    let output = fs::read(&said).unwrap_or_default();
    let _ = fs::remove_file(&said);
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(failed(last_line(&String::from_utf8_lossy(&output)))),
        Err(why) => Err(failed(&why)),
    }
}

/// The program and its first words, without paths.
fn describe(step: &Command) -> String {
    let words = std::iter::once(step.get_program()).chain(step.get_args());
    let words = words.map(|word| Path::new(word).file_name().unwrap_or(word).to_string_lossy());
    words.take(4).collect::<Vec<_>>().join(" ")
}

fn last_line(output: &str) -> &str {
    output.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim()
}

/// A file of this thread's own. Pipes would have to be read meanwhile.
fn tempfile(name: &str) -> std::io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(folder)?;
    let thread = format!("{:?}", thread::current().id());
    let id: String =
        thread.chars().chain(name.chars()).filter(char::is_ascii_alphanumeric).collect();
    Ok(folder.join(format!("upstream-{}-{id}.txt", std::process::id())))
}
