//! What may have been meant: the candidates nearest to what was sent.

use std::iter;

use crate::text;

/// Candidates that are looked at, and characters of an id that is compared.
const CANDIDATES: usize = 10_000;
const ID_CHARS: usize = 128;
/// Matches that are named.
const NEAREST: usize = 2;
/// No two ids further apart than this are alike, however long they are.
const MAX_DISTANCE: usize = 4;

/// Something that the caller may have meant: an id, and what it is called. It must be something
/// that the caller may see.
///
/// ```
/// use tower_outcome::Candidate;
///
/// let plain = Candidate::from("inbox/todo.md");
/// let labelled = Candidate::from(("proj_7", "Website"));
/// # let _ = (plain, labelled);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    id: String,
    label: Option<String>,
}

impl From<&str> for Candidate {
    fn from(id: &str) -> Self {
        Self { id: id.to_owned(), label: None }
    }
}

impl From<String> for Candidate {
    fn from(id: String) -> Self {
        Self { id, label: None }
    }
}

impl From<&String> for Candidate {
    fn from(id: &String) -> Self {
        Self::from(id.as_str())
    }
}

impl<I: Into<String>, L: Into<String>> From<(I, L)> for Candidate {
    fn from((id, label): (I, L)) -> Self {
        Self { id: id.into(), label: Some(label.into()) }
    }
}

/// Keeps the candidates that can be compared, until it is known what with.
pub(super) fn collect(
    candidates: impl IntoIterator<Item = impl Into<Candidate>>,
) -> Vec<Candidate> {
    candidates
        .into_iter()
        .take(CANDIDATES)
        .map(Into::into)
        .filter(|candidate| is_comparable(&candidate.id))
        .collect()
}

/// The nearest to `received`, best first, written `id` or `id (Label)`.
///
/// Near is at most a third of the length away, in insertions, deletions, replacements and swaps;
/// what differs only in case is always near.
pub(super) fn nearest(received: &str, candidates: &[Candidate]) -> Vec<String> {
    if !is_comparable(received) {
        return Vec::new();
    }
    let folded = received.to_lowercase();
    let bag = Bag::of(&folded);
    let cut_off = (received.chars().count() / 3).min(MAX_DISTANCE);
    let mut nearest: Vec<((usize, usize), &Candidate)> = Vec::with_capacity(NEAREST + 1);
    for candidate in candidates {
        let Some(distance) = distance(received, &folded, &bag, cut_off, &candidate.id) else {
            continue;
        };
        if nearest.iter().any(|(_, known)| known.id == candidate.id) {
            continue;
        }
        let place = nearest.partition_point(|(known, _)| *known <= distance);
        if place < NEAREST {
            nearest.insert(place, (distance, candidate));
            nearest.truncate(NEAREST);
        }
    }
    nearest.into_iter().map(|(_, candidate)| candidate.text()).collect()
}

/// How far `id` is, and how far without regard to case; `None` where that is too far, or where
/// `id` is what was sent.
fn distance(
    received: &str,
    folded: &str,
    bag: &Bag,
    cut_off: usize,
    id: &str,
) -> Option<(usize, usize)> {
    if id == received {
        return None;
    }
    let id_folded = id.to_lowercase();
    // The full comparison takes time in the square of the length; few candidates need it.
    if bag.distance(&Bag::of(&id_folded)) > cut_off {
        return None;
    }
    let without_case = strsim::osa_distance(folded, &id_folded);
    if without_case > cut_off {
        return None;
    }
    let exact = strsim::osa_distance(received, id);
    // Case on its own is one mistake, not one for each letter.
    Some((exact.min(without_case + 1), without_case))
}

fn is_comparable(id: &str) -> bool {
    !id.is_empty() && (id.len() <= ID_CHARS || id.chars().count() <= ID_CHARS)
}

/// How often each letter occurs, in 64 bins. Two texts are at least as far apart as their bags.
struct Bag([u16; 64]);

impl Bag {
    fn of(text: &str) -> Self {
        let mut bins = [0_u16; 64];
        for c in text.chars() {
            if let Some(bin) =
                usize::try_from(u32::from(c) & 63).ok().and_then(|at| bins.get_mut(at))
            {
                *bin = bin.saturating_add(1);
            }
        }
        Self(bins)
    }

    fn distance(&self, other: &Self) -> usize {
        let (mut more, mut less) = (0_usize, 0_usize);
        for (a, b) in iter::zip(self.0, other.0) {
            more += usize::from(a.saturating_sub(b));
            less += usize::from(b.saturating_sub(a));
        }
        more.max(less)
    }
}

impl Candidate {
    fn text(&self) -> String {
        let id = text::clean(&self.id, ID_CHARS);
        match self.label.as_deref().map(str::trim).filter(|label| !label.is_empty()) {
            Some(label) => format!("{id} ({})", text::clean(label, ID_CHARS)),
            None => id.into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(received: &str, ids: &[&str]) -> Vec<String> {
        nearest(received, &collect(ids.iter().copied()))
    }

    #[test]
    fn the_nearest_two_in_order() {
        let ids =
            ["inbox/done.md", "inbox/tood.md", "inbox/todo.md", "outbox/x.md", "inbox/todos.md"];
        assert_eq!(near("inbox/todo.m", &ids), ["inbox/todo.md", "inbox/tood.md"]);
        assert_eq!(near("inbox/todoss.md", &ids), ["inbox/todos.md", "inbox/todo.md"]);
    }

    #[test]
    fn what_is_too_far_is_not_named() {
        assert!(near("abc", &["xyz", "abxyz", ""]).is_empty());
        assert!(near("ab", &["ac"]).is_empty());
        assert_eq!(near("abc", &["abd"]), ["abd"]);
        // A third of 30 would be 10.
        let long = "x".repeat(30);
        assert_eq!(near(&long, &[&"x".repeat(26)]).len(), 1);
        assert!(near(&long, &[&"x".repeat(25)]).is_empty());
        assert!(near("same", &["same"]).is_empty());
    }

    #[test]
    fn case_alone_is_always_near_and_decides_a_tie() {
        assert_eq!(near("README", &["readme"]), ["readme"]);
        assert_eq!(near("a", &["A"]), ["A"]);
        assert_eq!(near("plan_x", &["plan_y", "Plan_X", "plan_X"]), ["Plan_X", "plan_X"]);
    }

    #[test]
    fn labels_stand_behind_and_cannot_forge_lines() {
        let candidates = collect([("proj_7", "Web\nsite"), ("proj_8", " ")]);
        assert_eq!(nearest("proj_9", &candidates), ["proj_7 (Web\\nsite)", "proj_8"]);
    }

    #[test]
    fn what_is_looked_at_is_bounded() {
        let endless = iter::repeat_n("abx", CANDIDATES).chain(iter::once("abd"));
        assert_eq!(nearest("abc", &collect(endless)), ["abx"]);
        let long = "x".repeat(ID_CHARS + 1);
        assert!(near(&long, &[&"x".repeat(ID_CHARS)]).is_empty());
        assert!(near(&"x".repeat(ID_CHARS), &[&long]).is_empty());
    }

    proptest! {
        #[test]
        fn a_bag_is_never_further_than_the_texts(a in "[abcAä€]{0,12}", b in "[abcAä€]{0,12}") {
            prop_assert!(Bag::of(&a).distance(&Bag::of(&b)) <= strsim::osa_distance(&a, &b));
        }
    }
}
