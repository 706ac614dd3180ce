use super::*;

const KI: i128 = 1 << 10;
const MAX_I64: i128 = i64::MAX as i128;

/// Billionths of a whole number of units.
const fn units(units: i128) -> i128 {
    units * NANOS_PER_UNIT
}

fn parse(text: &str) -> Quantity {
    Quantity::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn parse_cases() {
    struct Case {
        name: &'static str,
        text: &'static str,
        nanos: i128,
    }
    #[rustfmt::skip]
    let cases = [
        Case { name: "zero", text: "0", nanos: 0 },
        Case { name: "zero of many digits", text: "0000", nanos: 0 },
        Case { name: "zero with a fraction", text: "0.000", nanos: 0 },
        Case { name: "zero n", text: "0n", nanos: 0 },
        Case { name: "zero u", text: "0u", nanos: 0 },
        Case { name: "zero m", text: "0m", nanos: 0 },
        Case { name: "zero k", text: "0k", nanos: 0 },
        Case { name: "zero M", text: "0M", nanos: 0 },
        Case { name: "zero E", text: "0E", nanos: 0 },
        Case { name: "zero Ki", text: "0Ki", nanos: 0 },
        Case { name: "zero Mi", text: "0Mi", nanos: 0 },
        Case { name: "zero Ei", text: "0Ei", nanos: 0 },
        Case { name: "zero stays zero under any exponent", text: "0e400", nanos: 0 },
        Case { name: "no suffix", text: "17", nanos: units(17) },
        Case { name: "leading zeros", text: "0017", nanos: units(17) },
        // Decimal suffixes.
        Case { name: "nano", text: "21n", nanos: 21 },
        Case { name: "micro", text: "21u", nanos: 21_000 },
        Case { name: "milli", text: "250m", nanos: 250_000_000 },
        Case { name: "kilo", text: "2k", nanos: units(2_000) },
        Case { name: "kilo, two digits", text: "20k", nanos: units(20_000) },
        Case { name: "mega", text: "3M", nanos: units(3_000_000) },
        Case { name: "giga", text: "4G", nanos: units(4_000_000_000) },
        Case { name: "tera", text: "5T", nanos: units(5_000_000_000_000) },
        Case { name: "tera, three digits", text: "512T", nanos: units(512_000_000_000_000) },
        Case { name: "peta", text: "6P", nanos: units(6_000_000_000_000_000) },
        Case { name: "exa", text: "7E", nanos: units(7_000_000_000_000_000_000) },
        Case { name: "decimal is not capped at 2^63", text: "15E", nanos: units(15_000_000_000_000_000_000) },
        // Binary suffixes.
        Case { name: "kibi", text: "3Ki", nanos: units(3 * KI) },
        Case { name: "mebi", text: "200Mi", nanos: units(200 * KI * KI) },
        Case { name: "gibi", text: "16Gi", nanos: units(16 * KI.pow(3)) },
        Case { name: "tebi", text: "11Ti", nanos: units(11 * KI.pow(4)) },
        Case { name: "tebi, three digits", text: "110Ti", nanos: units(110 * KI.pow(4)) },
        Case { name: "pebi", text: "9Pi", nanos: units(9 * KI.pow(5)) },
        Case { name: "exbi", text: "7Ei", nanos: units(7 * KI.pow(6)) },
        Case { name: "binary stops at 2^63-1", text: "8Ei", nanos: units(MAX_I64) },
        Case { name: "binary far beyond", text: "99999999999999999999999999999999999999999999Ki", nanos: units(MAX_I64) },
        Case { name: "negative binary stops too", text: "-8Ei", nanos: -units(MAX_I64) },
        // Exponents.
        Case { name: "e", text: "2e3", nanos: units(2_000) },
        Case { name: "capital e with digits is an exponent", text: "2E3", nanos: units(2_000) },
        Case { name: "exponent with plus", text: "2.5e+2", nanos: units(250) },
        Case { name: "negative exponent", text: "2E-3", nanos: 2_000_000 },
        Case { name: "exponent not of a thousand", text: "7e13", nanos: units(70_000_000_000_000) },
        Case { name: "exponent zero", text: "0.25e0", nanos: 250_000_000 },
        Case { name: "fraction and exponent", text: "1.75E12", nanos: units(1_750_000_000_000) },
        Case { name: "fraction, trailing zero, exponent", text: "1.70e9", nanos: units(1_700_000_000) },
        Case { name: "fraction and negative exponent", text: "0.25e-2", nanos: 2_500_000 },
        Case { name: "exponent 18", text: "1.5e18", nanos: units(1_500_000_000_000_000_000) },
        // Fractions.
        Case { name: "tenths", text: "0.1", nanos: 100_000_000 },
        Case { name: "thousandths", text: "0.004", nanos: 4_000_000 },
        Case { name: "trailing zeros", text: "0.12500", nanos: 125_000_000 },
        Case { name: "fraction of a kilo", text: "0.0007k", nanos: 700_000_000 },
        Case { name: "fraction of a mega", text: "20.125M", nanos: units(20_125_000) },
        Case { name: "fraction finer than the suffix", text: "200.045k", nanos: units(200_045) },
        Case { name: "fraction of an exa", text: "1.03E", nanos: units(1_030_000_000_000_000_000) },
        Case { name: "point without whole part", text: ".25", nanos: 250_000_000 },
        Case { name: "point without whole part, suffix", text: ".0002k", nanos: 200_000_000 },
        Case { name: "point without fraction", text: "5.", nanos: units(5) },
        Case { name: "point without fraction, suffix", text: "5.G", nanos: units(5_000_000_000) },
        Case { name: "half a mebi", text: "0.5Mi", nanos: units(KI * KI / 2) },
        Case { name: "binary with an odd fraction", text: "200.035Ki", nanos: 204_835_840_000_000 },
        Case { name: "binary, tenths of a byte left", text: "0.05Gi", nanos: 53_687_091_200_000_000 },
        // Finer than a billionth: away from zero.
        Case { name: "part of a nano", text: "0.3n", nanos: 1 },
        Case { name: "nano and a bit", text: "7.002n", nanos: 8 },
        Case { name: "ten places", text: "0.0000000002", nanos: 1 },
        Case { name: "rounds up below the half", text: "0.00000045611", nanos: 457 },
        Case { name: "rounds up above the half", text: "0.00000045699", nanos: 457 },
        Case { name: "small exponent", text: "2.2E-9", nanos: 3 },
        Case { name: "tiny exponent", text: "1e-300", nanos: 1 },
        Case { name: "tiniest exponent, long fraction", text: "1.0000000000001e-9223372036854775808", nanos: 1 },
        Case { name: "part of a nano, binary", text: "0.000000000001Ki", nanos: 2 },
        Case { name: "negative rounds away from zero", text: "-7.002n", nanos: -8 },
        // Signs and what upstream lets pass.
        Case { name: "plus", text: "+250m", nanos: 250_000_000 },
        Case { name: "minus", text: "-1.5Ki", nanos: -units(1536) },
        Case { name: "minus zero", text: "-0", nanos: 0 },
        Case { name: "lone point", text: ".", nanos: 0 },
        Case { name: "minus and point", text: "-.", nanos: 0 },
        Case { name: "lone sign", text: "+", nanos: 0 },
        Case { name: "lone suffix", text: "m", nanos: 0 },
    ];
    for case in &cases {
        assert_eq!(parse(case.text).nanos, case.nanos, "case: {}", case.name);
    }
}

#[test]
fn malformed_texts_are_refused_with_the_place() {
    struct Case {
        text: &'static str,
        message: &'static str,
    }
    #[rustfmt::skip]
    let cases = [
        Case { text: "", message: "the text is empty" },
        Case { text: "1.5.G", message: "'.' at byte 3" },
        Case { text: "2+1.0M", message: "'.' at byte 3" },
        Case { text: " 5", message: "' ' at byte 0" },
        Case { text: "5 ", message: "' ' at byte 1" },
        Case { text: "5 Gi", message: "' ' at byte 1" },
        Case { text: "--5", message: "unknown suffix \"-5\"" },
        Case { text: "lots", message: "'l' at byte 0" },
        Case { text: "0.2zm", message: "'z' at byte 3" },
        Case { text: "5µ", message: "'µ' at byte 1" },
        Case { text: "5e3.5", message: "'.' at byte 3" },
        Case { text: "0x10", message: "'x' at byte 1" },
        Case { text: "5i", message: "unknown suffix \"i\"" },
        Case { text: "-4.02i", message: "unknown suffix \"i\"" },
        Case { text: "0.2mi", message: "unknown suffix \"mi\"" },
        Case { text: "5ki", message: "unknown suffix \"ki\"" },
        Case { text: "5K", message: "unknown suffix \"K\"" },
        Case { text: "5Gim", message: "unknown suffix \"Gim\"" },
        Case { text: "5m3", message: "unknown suffix \"m3\"" },
        Case { text: "5+3", message: "unknown suffix \"+3\"" },
        Case { text: "5e", message: "unknown suffix \"e\"" },
        Case { text: "-4.02e-", message: "unknown suffix \"e-\"" },
        Case { text: "5ee3", message: "unknown suffix \"ee3\"" },
        Case { text: "5e99999999999999999999", message: "unknown suffix \"e99999999999999999999\"" },
    ];
    for case in &cases {
        let error = Quantity::parse(case.text).expect_err(case.text);
        let message = error.to_string();
        assert!(message.contains(case.message), "{:?}: {message}", case.text);
        assert!(message.contains(&format!("{:?}", case.text)), "{message}");
    }
}

#[test]
fn negating_the_text_negates_the_quantity() {
    for text in ["1", "250m", "1.5Gi", "3.001n", "0.05Gi", "9Ei", "12E", "1e-3", ".5"] {
        assert_eq!(parse(&format!("-{text}")), -parse(text), "{text}");
        assert_eq!(parse(&format!("+{text}")), parse(text), "{text}");
    }
}

#[test]
fn value_and_milli_value_round_away_from_zero() {
    struct Case {
        text: &'static str,
        value: i64,
        milli_value: i64,
    }
    #[rustfmt::skip]
    let cases = [
        Case { text: "0", value: 0, milli_value: 0 },
        Case { text: "3", value: 3, milli_value: 3_000 },
        Case { text: "3000m", value: 3, milli_value: 3_000 },
        Case { text: "2001m", value: 3, milli_value: 2_001 },
        Case { text: "1n", value: 1, milli_value: 1 },
        Case { text: "1u", value: 1, milli_value: 1 },
        Case { text: "1000001n", value: 1, milli_value: 2 },
        Case { text: "0.1Ki", value: 103, milli_value: 102_400 },
        Case { text: "5.4321", value: 6, milli_value: 5_433 },
        Case { text: "-1n", value: -1, milli_value: -1 },
        Case { text: "-2001m", value: -3, milli_value: -2_001 },
        Case { text: "-5.4321", value: -6, milli_value: -5_433 },
        Case { text: "4Gi", value: 4 << 30, milli_value: (4 << 30) * 1_000 },
    ];
    for case in &cases {
        let quantity = parse(case.text);
        assert_eq!(quantity.value(), case.value, "{}", case.text);
        assert_eq!(quantity.milli_value(), case.milli_value, "{}", case.text);
    }
}

#[test]
fn sizes_beyond_the_integers_stop_at_the_ends() {
    assert_eq!(parse("9Ei").value(), i64::MAX);
    assert_eq!(parse("9Ei").milli_value(), i64::MAX);
    assert_eq!(parse("20E").value(), i64::MAX);
    assert_eq!(parse("-20E").value(), i64::MIN);
    assert_eq!(parse("-20E").milli_value(), i64::MIN);
    let huge = parse("1e100");
    assert_eq!(huge.value(), i64::MAX);
    assert_eq!(huge, parse("1e9223372036854775807"));
    assert_eq!(huge + huge, huge);
    assert_eq!(huge.checked_add(parse("1")), None);
    assert_eq!(parse("-1e100").checked_sub(parse("2")), None);
}

#[test]
fn sums_and_differences_are_exact_across_suffixes() {
    struct Case {
        left: &'static str,
        right: &'static str,
        sum: &'static str,
        difference: &'static str,
    }
    #[rustfmt::skip]
    let cases = [
        Case { left: "0", right: "250m", sum: "250m", difference: "-250m" },
        Case { left: "250m", right: "0", sum: "250m", difference: "250m" },
        Case { left: "1", right: "1m", sum: "1001m", difference: "999m" },
        Case { left: "1n", right: "1E", sum: "1000000000000000000.000000001", difference: "-999999999999999999.999999999" },
        Case { left: "1Ki", right: "24", sum: "1048", difference: "1k" },
        Case { left: "-3", right: "-4", sum: "-7", difference: "1" },
        Case { left: "1000m", right: "1", sum: "2", difference: "0" },
        Case { left: "9Ei", right: "1", sum: "9223372036854775808", difference: "9223372036854775806" },
    ];
    for case in &cases {
        let (left, right) = (parse(case.left), parse(case.right));
        let label = format!("{} and {}", case.left, case.right);
        assert_eq!(left + right, parse(case.sum), "{label}");
        assert_eq!(left - right, parse(case.difference), "{label}");
        assert_eq!(left.checked_add(right), Some(left + right), "{label}");
        assert_eq!(left.checked_sub(right), Some(left - right), "{label}");
        let mut round_trip = left;
        round_trip += right;
        round_trip -= right;
        assert_eq!(round_trip, left, "{label}");
    }
    let total: Quantity = ["1", "250m", "1Ki"].into_iter().map(parse).sum();
    assert_eq!(total, parse("1025250m"));
}

#[test]
fn order_is_by_size_whatever_the_suffix() {
    assert_eq!(parse("1000m"), parse("1"));
    assert_eq!(parse("1.0e3"), parse("1k"));
    assert!(parse("99m") < parse("100m"));
    assert!(parse("100Gi") < parse("10000T"));
    assert!(parse("-1") < parse("0"));
    assert!(parse("1M") < parse("1Mi"));
}

#[test]
fn constructors_equal_their_texts() {
    assert_eq!(Quantity::from_units(3), parse("3"));
    assert_eq!(Quantity::from_milli(-1500), parse("-1.5"));
    assert_eq!(Quantity::from_units(i64::MIN).value(), i64::MIN);
    assert_eq!(Quantity::from_milli(i64::MAX).milli_value(), i64::MAX);
    assert_eq!(Quantity::ZERO, Quantity::default());
    assert!(parse("0Gi").is_zero());
    assert!(!parse("1n").is_zero());
    assert_eq!("2Gi".parse(), Ok(Quantity::from_units(2 << 30)));
}

#[test]
fn displays_the_canonical_decimal_form() {
    for (text, canonical) in [
        ("0Ki", "0"),
        ("1000m", "1"),
        ("1.5", "1500m"),
        ("0.1", "100m"),
        ("100000", "100k"),
        ("1234567", "1234567"),
        ("-2500m", "-2500m"),
        ("1Ki", "1024"),
        ("3n", "3n"),
        ("0.000004", "4u"),
        ("5e12", "5T"),
        ("12E", "12E"),
        ("1e21", "1000E"),
    ] {
        assert_eq!(parse(text).to_string(), canonical, "{text}");
        assert_eq!(parse(canonical), parse(text), "{text}");
    }
}
