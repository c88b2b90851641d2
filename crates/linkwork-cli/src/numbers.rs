//! Numbers on the command line, written as in scenes: fractions (`1/60`) and units (`5 ms`, `30 deg`).

/// Splits a number from its unit: `5 ms` and `5ms` alike.
fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let is_unit = |c: char| c.is_ascii_alphabetic() || c == '%';
    // From the end, so that the `e` of a power of ten stays with its digits.
    let at =
        text.rfind(|c| !is_unit(c)).map_or(0, |i| i + text[i..].chars().next().map_or(1, char::len_utf8));
    let (number, unit) = text.split_at(at);
    let one = |t: &str| t.trim().parse::<f64>().map_err(|_| "not a number".to_owned());
    let value = match number.split_once('/') {
        None => one(number)?,
        Some((_, below)) if below.contains('/') => return Err("a fraction has only one `/`".into()),
        Some((above, below)) => match one(below)? {
            0.0 => return Err("a fraction with denominator 0".into()),
            below => one(above)? / below,
        },
    };
    Ok((value, unit))
}

/// A number greater than zero, in one of the units named with their sizes.
fn greater_than_zero(text: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let (value, unit) = split(text)?;
    let size = match units.iter().find(|u| u.0 == unit) {
        Some((_, size)) => *size,
        None if unit.is_empty() => 1.0,
        None if units.is_empty() => return Err(format!("`{unit}` is not a unit, and none is needed here")),
        None => {
            let known: Vec<String> = units.iter().map(|u| format!("`{}`", u.0)).collect();
            return Err(format!("`{unit}` is not possible here; use {}, or no unit", known.join(" or ")));
        }
    };
    // 5 ms are five thousandths, as scenes have it, and not five times a rounded thousandth.
    let value = if size < 1.0 { value / (1.0 / size).round() } else { value * size };
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err("a number greater than zero is needed".into())
    }
}

/// A number greater than zero.
pub fn positive(text: &str) -> Result<f64, String> {
    greater_than_zero(text, &[])
}

/// A time greater than zero, in seconds: `2`, `1/60`, `5 ms`.
pub fn seconds(text: &str) -> Result<f64, String> {
    greater_than_zero(text, &[("s", 1.0), ("ms", 1e-3)])
}

/// A time greater than zero, in milliseconds: `4`, `1/2`, `4 ms`.
pub fn milliseconds(text: &str) -> Result<f64, String> {
    greater_than_zero(text, &[("ms", 1.0), ("s", 1e3)])
}

/// An angle greater than zero, in radians: `0.5`, `30 deg`.
pub fn angle(text: &str) -> Result<f64, String> {
    if let Ok((value, "deg")) = split(text) {
        return greater_than_zero(&format!("{:?}", value.to_radians()), &[]);
    }
    greater_than_zero(text, &[("deg", 1.0)])
}

/// Any number that is not negative.
pub fn not_negative(text: &str) -> Result<f64, String> {
    match split(text)? {
        (x, "") if x >= 0.0 && x.is_finite() => Ok(x),
        (_, "") => Err("a number that is not negative is needed".into()),
        (_, unit) => Err(format!("`{unit}` is not a unit, and none is needed here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_in_scenes() {
        assert_eq!(seconds("1/60"), Ok(1.0 / 60.0));
        assert_eq!(seconds("5 ms"), Ok(5.0 / 1000.0));
        assert_eq!(seconds("5ms"), Ok(0.005));
        assert_eq!(seconds("1e-3"), Ok(0.001));
        assert_eq!(seconds(" 2 s "), Ok(2.0));
        assert_eq!(milliseconds("1/2"), Ok(0.5));
        assert_eq!(milliseconds("4 ms"), Ok(4.0));
        assert_eq!(angle("30 deg"), Ok(30f64.to_radians()));
        assert_eq!(positive("1/1000"), Ok(0.001));
        assert_eq!(not_negative("0"), Ok(0.0));
        for wrong in
            ["", "x", "1/0", "1/2/3", "-1", "0", "nan", "inf", "1e999", "5 mm", "5 %", "ms", "1/", "/2", "é"]
        {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
        assert!(seconds("5 mm").is_err_and(|e| e.contains("`mm` is not possible here; use `s` or `ms`")));
    }
}
