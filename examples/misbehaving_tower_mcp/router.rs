//! Prompts, resources, and all tools.

use std::collections::HashMap;

use tower_mcp::{
    Error, GetPromptResult, McpRouter, Prompt, PromptBuilder, ReadResourceResult, Resource,
    ResourceBuilder,
};

use crate::{
    tasks, tools,
    trouble::{HOWS, misbehave},
};

pub(crate) fn router() -> McpRouter {
    let router = McpRouter::new()
        .server_info("misbehaving_tower_mcp", env!("CARGO_PKG_VERSION"))
        .tools(tools::all())
        .tool(tasks::task())
        .with_tasks()
        .prompt(prompt());
    HOWS.iter().fold(router, |router, how| router.resource(resource(how)))
}

fn prompt() -> Prompt {
    PromptBuilder::new("misbehave")
        .description("Ends as it is told.")
        .optional_arg("how", HOWS.join(", "))
        .handler(|arguments: HashMap<String, String>| async move {
            let how = arguments.get("how").map_or("ok", String::as_str);
            let text = misbehave(how).await.map_err(Error::from)?;
            Ok(GetPromptResult::user_message(text))
        })
        .build()
}

fn resource(how: &'static str) -> Resource {
    let uri = format!("test://{how}");
    ResourceBuilder::new(&uri)
        .name(how)
        .handler(move || {
            let uri = uri.clone();
            async move {
                let text = misbehave(how).await.map_err(Error::from)?;
                Ok(ReadResourceResult::text(uri, text))
            }
        })
        .build()
}
