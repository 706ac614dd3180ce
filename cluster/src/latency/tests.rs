//! What can be written, what is drawn, and how fast a client may call.

use super::*;

const MS: u64 = 1_000_000;

#[test]
fn latency_distribution_round_trips_through_text() {
    let cases = [
        ("0", Latency::NONE),
        ("5ms", Latency::constant_ms(5)),
        ("1.5ms", Latency::Constant { ns: 1_500_000 }),
        ("250us", Latency::Constant { ns: 250_000 }),
        ("uniform:1ms..9ms", Latency::Uniform { low_ns: MS, high_ns: 9 * MS }),
        ("lognormal:5ms,0.5", Latency::LogNormal { median_ns: 5 * MS, sigma: 0.5 }),
        (
            "percentiles:50=4ms,99=30ms",
            Latency::Percentiles(Percentiles::new(&[(0.5, 4 * MS), (0.99, 30 * MS)]).expect("ascending")),
        ),
    ];
    for (text, wanted) in cases {
        let read: Latency = text.parse().expect(text);
        assert_eq!(read, wanted, "{text}");
        assert_eq!(read.to_string().parse(), Ok(read), "{text} and back");
    }
}

#[test]
fn a_bad_distribution_is_refused_with_the_value_and_the_grammar() {
    let cases = [
        ("5", "\"5\" is not a time with a unit"),
        ("fast", "\"fast\" is not a time with a unit"),
        ("-1ms", "\"-1ms\" is not a time with a unit"),
        ("2000000s", "is more than an hour"),
        ("uniform:9ms..1ms", "9ms is more than 1ms"),
        ("uniform:9ms", "uniform needs two ends"),
        ("lognormal:5ms,-1", "sigma \"-1\" is not a number from 0 to 10"),
        ("percentiles:90=9ms,50=4ms", "percentiles must ascend"),
        ("percentiles:50:4ms", "has no ="),
        ("pareto:1ms", "there is no distribution \"pareto\""),
    ];
    for (text, wanted) in cases {
        let message = text.parse::<Latency>().expect_err(text).to_string();
        assert!(message.contains(wanted), "{text}: {message}");
        assert!(message.contains("lognormal:5ms,0.5"), "{text}: says how to write one: {message}");
    }
}

/// Quantiles of many draws.
fn quantiles(latency: &Latency, shares: &[f64]) -> Vec<u64> {
    let mut draws = Draws::new(7);
    let mut drawn: Vec<u64> = (0..20_000).map(|_| latency.draw_ns(&mut draws)).collect();
    drawn.sort_unstable();
    shares.iter().map(|share| drawn[(share * 19_999.0) as usize]).collect()
}

#[test]
fn draws_follow_the_distribution() {
    let near = |got: u64, wanted_ms: f64, name: &str| {
        let got_ms = got as f64 / 1e6;
        assert!((got_ms / wanted_ms - 1.0).abs() < 0.05, "{name}: {got_ms} ms, wanted {wanted_ms}");
    };
    let uniform = Latency::Uniform { low_ns: 2 * MS, high_ns: 10 * MS };
    let got = quantiles(&uniform, &[0.0, 0.25, 0.5, 1.0]);
    for (got, wanted) in got.iter().zip([2.0, 4.0, 6.0, 10.0]) {
        near(*got, wanted, "uniform");
    }
    let log_normal = Latency::LogNormal { median_ns: 5 * MS, sigma: 0.5 };
    // The 84th percentile of a normal distribution is one deviation up.
    let got = quantiles(&log_normal, &[0.5, 0.8413]);
    near(got[0], 5.0, "median");
    near(got[1], 5.0 * 0.5_f64.exp(), "one deviation");
    let given = [(0.5, 4 * MS), (0.9, 9 * MS), (0.99, 30 * MS)];
    let percentiles = Latency::Percentiles(Percentiles::new(&given).expect("ascending"));
    let got = quantiles(&percentiles, &[0.0, 0.5, 0.9, 0.99, 1.0]);
    for (got, wanted) in got.iter().zip([4.0, 4.0, 9.0, 30.0, 30.0]) {
        near(*got, wanted, "percentiles");
    }
    assert_eq!(quantiles(&Latency::constant_ms(3), &[0.0, 1.0]), [3 * MS, 3 * MS]);
}

#[test]
fn client_sends_burst_at_once_then_at_its_rate() {
    let mut bucket = TokenBucket::new(RateLimit { qps: 100.0, burst: 3 });
    let starts: Vec<u64> = (0..5).map(|_| bucket.take_ns(1_000 * MS)).collect();
    let ms = |ms: u64| ms * MS;
    assert_eq!(starts, [ms(1000), ms(1000), ms(1000), ms(1010), ms(1020)]);
    // A rest of 20 ms pays the two that were promised, and a full second fills the bucket again.
    assert_eq!(bucket.take_ns(ms(1030)), ms(1030));
    let starts: Vec<u64> = (0..4).map(|_| bucket.take_ns(ms(9000))).collect();
    assert_eq!(starts, [ms(9000), ms(9000), ms(9000), ms(9010)]);
}
