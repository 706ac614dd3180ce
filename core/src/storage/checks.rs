//! What must hold of storage between two events. See `World::check`.

use super::usage::CsiVolume;
use super::{Attachment, Storage};
use crate::ids::VolumeId;
use crate::interner::EMPTY;

impl Storage {
    /// Panics where claims, volumes, attachments and what is used of them do not agree.
    pub(crate) fn check(&self) {
        assert!(self.supposed_uses.is_empty(), "nothing is supposed between two cycles");
        self.check_names();
        self.check_volumes();
        self.check_claims();
        self.check_attachments();
        self.usage.check();
    }

    fn check_names(&self) {
        assert_eq!(self.claim_ids.len() + self.free_claims.len(), self.claims.len(), "a claim has a name");
        assert_eq!(
            self.volume_ids.len() + self.free_volumes.len(),
            self.volumes.len(),
            "a volume has a name"
        );
        for (&name, &id) in &self.claim_ids {
            assert_eq!(self.claim_name(id), name, "a claim is found under its own name");
        }
        for (&name, &id) in &self.volume_ids {
            assert_eq!(self.volume_name(id), name, "a volume is found under its own name");
        }
        for &id in &self.free_claims {
            assert!((id as usize) < self.claims.len(), "a free id is one of the table");
            assert!(self.claims[id as usize].object.is_none(), "a free id is no claim");
            assert!(self.claims[id as usize].users.is_empty(), "a free id is used by nobody");
        }
        for &id in &self.free_volumes {
            assert!((id as usize) < self.volumes.len(), "a free id is one of the table");
            assert!(self.volumes[id as usize].object.is_none(), "a free id is no volume");
        }
    }

    fn check_volumes(&self) {
        let id = |at| VolumeId(u32::try_from(at).expect("ids fit u32"));
        let rows = || self.volumes.iter().enumerate().map(|(at, row)| (id(at), row));
        self.volume_index.check(|| rows().filter_map(|(id, row)| Some((id, row.object.as_ref()?))));
        let mut listed = 0;
        for (&claim, volumes) in &self.assumed_volumes {
            assert!(!volumes.is_empty(), "a claim without assumed volumes is not listed");
            assert!(claim.index() < self.claims.len(), "a volume is assumed for a claim");
            for &id in volumes {
                assert_eq!(
                    self.assumed_claim(id),
                    Some(claim),
                    "a volume is listed with the claim it is assumed for"
                );
            }
            listed += volumes.len();
        }
        let assumed = rows().filter(|(_, row)| row.assumed.is_some()).count();
        assert_eq!(listed, assumed, "each assumed volume is listed once");
    }

    fn check_claims(&self) {
        let mut listed = 0;
        for (&volume, claims) in &self.claims_of_volume {
            assert_ne!(volume, EMPTY, "a claim without a volume is not listed");
            for &id in claims {
                let of_claim = self.claim(id).map(|claim| claim.volume_name);
                assert_eq!(of_claim, Some(volume), "a claim is listed with its own volume");
            }
            listed += claims.len();
        }
        let names_one = |claim: &&super::objects::Claim| claim.volume_name != EMPTY;
        let naming = self.claims.iter().filter_map(|row| row.object.as_ref()).filter(names_one).count();
        assert_eq!(listed, naming, "each claim with a volume is listed once");
        for row in &self.claims {
            assert!(row.named_uses <= u32::MAX / 2, "uses of a claim are added before they go");
            for (at, &(node, uses)) in row.users.iter().enumerate() {
                assert!(uses > 0, "a node whose pods do not use the claim is not listed");
                assert!(row.users[..at].iter().all(|&(other, _)| other != node), "a node is listed once");
                if let Some(attachable) = row.attachable {
                    let is_used = self.usage.is_used_by_pods(attachable.volume, node);
                    assert!(is_used, "what pods use is attached to their node");
                }
            }
        }
    }

    fn check_attachments(&self) {
        let listed: usize = self.attachments_of_volume.values().map(Vec::len).sum();
        let names_one = |attachment: &&Attachment| attachment.volume_name.is_some();
        let naming = self.attachments.values().filter(names_one).count();
        assert_eq!(listed, naming, "each attachment of a volume is listed once");
        for (&volume, names) in &self.attachments_of_volume {
            for name in names {
                let of_attachment = self.attachments.get(name).and_then(|it| it.volume_name);
                assert_eq!(of_attachment, Some(volume), "an attachment is listed with its own volume");
            }
        }
        let counted = self.attachments.values().filter(|it| it.counted.is_some()).count();
        assert_eq!(self.usage.attachment_count(), counted, "what is attached is counted where it is");
        for attachment in self.attachments.values() {
            if let Some(CsiVolume { driver, .. }) = attachment.counted {
                assert_eq!(driver, attachment.attacher, "an attachment counts for who made it");
            }
        }
    }
}
