//! What the test plugins do between their calls: one makes up its mind about pods that wait at
//! Permit, all ask for pods to be tried again.

use schedlab_core::framework::points::Request;
use schedlab_core::ids::PodUid;

use super::item::Item;
use super::plugins::{PASS, PERMIT, PERMIT_TIMEOUT_NS};
use super::run::Simulation;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

impl Simulation<'_> {
    pub(super) fn decide_permit(&mut self, number: u8, incarnation: u32, pod: PodUid) -> bool {
        let permits = u64::from(self.actors[usize::from(number)].record(pod).permits);
        let bits = self.bits(4, self.number_of(pod), permits);
        if permits >= 3 || !bits.is_multiple_of(5) {
            return self.request(number, incarnation, Request::Allow { pod, plugin: PERMIT });
        }
        let wait = self.actors[usize::from(number)].record(pod).waits;
        if bits.is_multiple_of(2) {
            // It is asked for while it waits, and rejected after that: it must come back by itself.
            let wait_ns = self.between((MS, 2 * SECOND), bits >> 8);
            let item = Item::Reject { actor: number, incarnation, pod, plugin: PERMIT, wait };
            self.push(self.now_ns() + wait_ns, item);
            return self.request(number, incarnation, Request::Activate { pod });
        }
        let wait_ns = self.between((SECOND, 3 * SECOND), bits >> 8);
        self.push(self.now_ns() + wait_ns, Item::Activate { actor: number, incarnation, pod });
        self.reject(number, incarnation, pod, (PERMIT, wait))
    }

    /// Rejects a pod unless the wait that is meant is over.
    pub(super) fn reject(
        &mut self,
        number: u8,
        incarnation: u32,
        pod: PodUid,
        (plugin, wait): (&'static str, u32),
    ) -> bool {
        let message = "rejected by the script".into();
        self.actors[usize::from(number)].record(pod).waits == wait
            && self.request(number, incarnation, Request::Reject { pod, plugin, message })
    }

    pub(super) fn request(&mut self, number: u8, incarnation: u32, request: Request) -> bool {
        let now_ns = self.now_ns();
        let actor = &mut self.actors[usize::from(number)];
        if actor.incarnation != incarnation {
            return false;
        }
        actor.causes += 1;
        actor.scheduler_mut().advance(now_ns);
        actor.scheduler_mut().request(request, now_ns);
        self.after(usize::from(number));
        true
    }

    pub(super) fn read_board(&mut self, at: usize) {
        if !self.scenario.setup.has_plugins {
            return;
        }
        let mut board = self.actors[at].board.lock();
        if board.waiting.is_empty() && board.refused.is_empty() {
            return;
        }
        let (waiting, refused) = (std::mem::take(&mut board.waiting), std::mem::take(&mut board.refused));
        drop(board);
        let (actor, incarnation) = (self.actors[at].number, self.actors[at].incarnation);
        for (pod, plugin) in waiting {
            let record = self.actors[at].record(pod);
            record.waits += 1;
            record.permits += u32::from(plugin == PERMIT);
            let (permits, wait) = (u64::from(record.permits), record.waits);
            if plugin == PASS {
                let bits = self.bits(10, self.number_of(pod), u64::from(wait));
                // One in four is left to its timeout.
                if !bits.is_multiple_of(4) {
                    let wait_ns = self.between((MS, 4 * SECOND), bits >> 8);
                    let item = Item::Reject { actor, incarnation, pod, plugin, wait };
                    self.push(self.now_ns() + wait_ns, item);
                }
                continue;
            }
            let bits = self.bits(5, self.number_of(pod), permits);
            if permits < 3 && bits.is_multiple_of(7) {
                // Nobody comes: the wait ends by itself, and somebody asks for the pod later.
                let later_ns = PERMIT_TIMEOUT_NS + self.between((SECOND, 3 * SECOND), bits >> 8);
                self.push(self.now_ns() + later_ns, Item::Activate { actor, incarnation, pod });
            } else {
                let wait_ns = self.between((MS, 2 * SECOND), bits >> 8);
                self.push(self.now_ns() + wait_ns, Item::Permit { actor, incarnation, pod });
            }
        }
        for pod in refused {
            let bits = self.bits(6, self.number_of(pod), 0);
            let wait_ns = self.between((SECOND, 3 * SECOND), bits);
            self.push(self.now_ns() + wait_ns, Item::Activate { actor, incarnation, pod });
        }
    }
}
