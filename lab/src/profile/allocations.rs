//! From return addresses to call sites.

use std::collections::BTreeMap;
use std::ffi::c_void;

use schedlab_perf_dash::history::AllocationSite;
use schedlab_perf_dash::profile::frame_name;

use crate::alloc::{Addresses, Allocated};

/// Call sites, the most bytes first, and the stacks for a flamegraph of bytes.
#[derive(Clone, Debug)]
pub struct Allocations {
    /// Who allocates.
    pub sites: Vec<AllocationSite>,
    /// Bytes by stack, outermost function first.
    pub stacks: BTreeMap<Vec<String>, u64>,
    /// All together.
    pub all: Allocated,
}

/// A function on a stack and where in the source the call is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Frame {
    name: String,
    place: Option<String>,
}

pub(super) fn resolve(counted: &BTreeMap<Addresses, Allocated>) -> Allocations {
    let mut frames: BTreeMap<usize, Vec<Frame>> = BTreeMap::new();
    let mut sites: BTreeMap<String, Allocated> = BTreeMap::new();
    let mut stacks: BTreeMap<Vec<String>, u64> = BTreeMap::new();
    let mut all = Allocated::default();
    for (addresses, allocated) in counted {
        for &address in addresses {
            frames.entry(address).or_insert_with(|| frames_at(address));
        }
        let stack: Vec<&Frame> = addresses.iter().flat_map(|address| &frames[address]).collect();
        let stack = without_allocator(&stack);
        let site = sites.entry(site_name(stack)).or_default();
        site.count += allocated.count;
        site.bytes += allocated.bytes;
        all.count += allocated.count;
        all.bytes += allocated.bytes;
        let names = stack.iter().rev().map(|frame| frame.name.clone()).collect();
        *stacks.entry(names).or_default() += allocated.bytes;
    }
    let mut sites: Vec<AllocationSite> = sites
        .into_iter()
        .map(|(site, Allocated { count, bytes })| AllocationSite { site, count, bytes })
        .collect();
    sites.sort_by(|one, other| {
        (other.bytes, other.count, &one.site).cmp(&(one.bytes, one.count, &other.site))
    });
    Allocations { sites, stacks, all }
}

/// The functions at an address, inlined ones first.
fn frames_at(address: usize) -> Vec<Frame> {
    let mut frames = Vec::new();
    // A return address is that of the next instruction; the call is before it.
    backtrace::resolve(address.saturating_sub(1) as *mut c_void, |symbol| {
        let file = symbol.filename().map(|path| path.display().to_string()).unwrap_or_default();
        let name = symbol.name().map(|name| format!("{name:#}")).unwrap_or_else(|| format!("{address:#x}"));
        let short = file.rsplit('/').take(2).collect::<Vec<_>>();
        let short = short.into_iter().rev().collect::<Vec<_>>().join("/");
        let place = symbol.lineno().map(|line| format!("{short}:{line}"));
        frames.push(Frame { name: frame_name(&name, &file), place });
    });
    if frames.is_empty() {
        frames.push(Frame { name: format!("{address:#x}"), place: None });
    }
    frames
}

/// What is left when the allocator and what counts are taken off the inner end.
fn without_allocator<'s, 'f>(stack: &'s [&'f Frame]) -> &'s [&'f Frame] {
    const ALLOCATOR: [&str; 5] =
        ["schedlab_lab::alloc::", "__rust_alloc", "__rust_realloc", "__rust_no_alloc_shim", "__rdl_"];
    let is_allocator = |frame: &&Frame| ALLOCATOR.iter().any(|mark| frame.name.contains(mark));
    let last = stack.iter().rposition(is_allocator);
    &stack[last.map_or(0, |at| at + 1)..]
}

/// The innermost function of ours with its place, or the innermost of all.
fn site_name(stack: &[&Frame]) -> String {
    let ours = stack.iter().find(|frame| frame.name.contains("schedlab"));
    match ours.or(stack.first()) {
        Some(Frame { name, place: Some(place) }) => format!("{name} ({place})"),
        Some(Frame { name, place: None }) => name.clone(),
        None => "unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str) -> Frame {
        Frame { name: name.to_owned(), place: Some("x/y.rs:7".to_owned()) }
    }

    #[test]
    fn a_call_site_is_the_innermost_function_of_ours() {
        let frames = [
            frame("backtrace::trace_unsynchronized"),
            frame("schedlab_lab::alloc::count"),
            frame("__rustc::__rust_alloc"),
            frame("alloc::vec::Vec::push"),
            frame("schedlab_core::queue::active::push"),
            frame("schedlab_core::scheduler::Scheduler::step"),
            frame("std::sys::backtrace::__rust_begin_short_backtrace"),
        ];
        let stack: Vec<&Frame> = frames.iter().collect();
        let kept = without_allocator(&stack);
        assert_eq!(kept[0].name, "alloc::vec::Vec::push");
        assert_eq!(site_name(kept), "schedlab_core::queue::active::push (x/y.rs:7)");
        assert_eq!(site_name(&kept[..1]), "alloc::vec::Vec::push (x/y.rs:7)");
    }

    #[test]
    fn addresses_are_symbolised() {
        let mut addresses = Vec::new();
        backtrace::trace(|frame| {
            addresses.push(frame.ip() as usize);
            true
        });
        let counted = BTreeMap::from([(addresses, Allocated { count: 2, bytes: 64 })]);
        let found = resolve(&counted);
        assert_eq!(found.all, Allocated { count: 2, bytes: 64 });
        assert!(found.sites[0].site.contains("addresses_are_symbolised"), "{:?}", found.sites[0]);
    }
}
