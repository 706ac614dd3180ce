//! A history may come from anywhere, a cache of a CI job for one. Its texts are shown in terminals, in
//! which a control character is a command: none gets past the reader.

use super::model::Record;

/// Puts U+FFFD in the place of every control character; a message of several lines keeps its lines.
pub(super) fn make_printable(record: &mut Record) {
    clean(&mut record.started_at);
    clean(&mut record.coverage);
    record.label.iter_mut().for_each(clean);
    record.revision.iter_mut().for_each(clean);
    if let Some(machine) = &mut record.machine {
        [&mut machine.os, &mut machine.arch, &mut machine.cpu_model].into_iter().for_each(clean);
    }
    if let Some(settings) = &mut record.settings {
        clean_keys(&mut settings.options);
        settings.options.values_mut().for_each(clean);
        clean_keys(&mut settings.feature_gates);
    }
    clean_keys(&mut record.instructions);
    for point in &mut record.points {
        clean(&mut point.name);
        clean(&mut point.suite);
        point.collector.iter_mut().for_each(clean);
        point.message.iter_mut().for_each(|message| *message = cleaned(message, &['\n']));
        point.feature_gates.iter_mut().for_each(clean_keys);
        if let Some(content) = &mut point.content {
            clean(&mut content.workload);
            content.scheduler_config.iter_mut().for_each(clean);
        }
        for line in &mut point.slo {
            [&mut line.name, &mut line.target, &mut line.unit].into_iter().for_each(clean);
        }
    }
    for profile in &mut record.profiles {
        clean(&mut profile.workload);
        for share in &mut profile.shares {
            [&mut share.kind, &mut share.name].into_iter().for_each(clean);
        }
        profile.allocations.iter_mut().for_each(|site| clean(&mut site.site));
    }
}

/// The same without control characters.
pub(super) fn printable(text: &str) -> String {
    cleaned(text, &[])
}

fn clean(text: &mut String) {
    if text.contains(char::is_control) {
        *text = cleaned(text, &[]);
    }
}

fn cleaned(text: &str, kept: &[char]) -> String {
    let replaced =
        |letter: char| if letter.is_control() && !kept.contains(&letter) { '\u{fffd}' } else { letter };
    text.chars().map(replaced).collect()
}

fn clean_keys<T>(map: &mut std::collections::BTreeMap<String, T>) {
    if map.keys().any(|key| key.contains(char::is_control)) {
        *map = std::mem::take(map).into_iter().map(|(key, value)| (cleaned(&key, &[]), value)).collect();
    }
}
