//! A set of plugins of one profile, by their place in its list.

/// The place of a plugin in its profile's list of all plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginNumber(pub u8);

/// Plugins a profile may have at most: one bit each.
pub const PLUGINS_MAX: usize = u64::BITS as usize;

/// Up to [`PLUGINS_MAX`] plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PluginNumberSet(u64);

impl PluginNumberSet {
    /// No plugin.
    pub const NONE: PluginNumberSet = PluginNumberSet(0);

    /// One plugin.
    #[must_use]
    pub fn one(plugin: PluginNumber) -> PluginNumberSet {
        debug_assert!(usize::from(plugin.0) < PLUGINS_MAX, "a plugin has a bit of the set");
        PluginNumberSet(1 << plugin.0)
    }

    /// Adds a plugin.
    pub fn insert(&mut self, plugin: PluginNumber) {
        self.0 |= PluginNumberSet::one(plugin).0;
    }

    /// Whether it has this plugin.
    #[must_use]
    pub fn contains(self, plugin: PluginNumber) -> bool {
        self.0 & PluginNumberSet::one(plugin).0 != 0
    }

    /// No plugin.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of both.
    #[must_use]
    pub fn union(self, other: PluginNumberSet) -> PluginNumberSet {
        PluginNumberSet(self.0 | other.0)
    }

    /// Those that both have.
    #[must_use]
    pub fn intersection(self, other: PluginNumberSet) -> PluginNumberSet {
        PluginNumberSet(self.0 & other.0)
    }

    /// In ascending order.
    pub fn iter(self) -> impl Iterator<Item = PluginNumber> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            let lowest = u8::try_from(bits.trailing_zeros()).expect("at most 64");
            (bits != 0).then(|| {
                bits &= bits - 1;
                PluginNumber(lowest)
            })
        })
    }
}

impl FromIterator<PluginNumber> for PluginNumberSet {
    fn from_iter<I: IntoIterator<Item = PluginNumber>>(plugins: I) -> PluginNumberSet {
        let mut set = PluginNumberSet::NONE;
        plugins.into_iter().for_each(|plugin| set.insert(plugin));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_set_contains_what_was_inserted() {
        let set: PluginNumberSet = [3, 0, 63].map(PluginNumber).into_iter().collect();
        assert_eq!(set.iter().map(|plugin| plugin.0).collect::<Vec<_>>(), [0, 3, 63]);
        assert!(set.contains(PluginNumber(63)) && !set.contains(PluginNumber(1)));
        assert_eq!(set.intersection(PluginNumberSet::one(PluginNumber(1))), PluginNumberSet::NONE);
        assert!(PluginNumberSet::NONE.iter().next().is_none());
    }
}
