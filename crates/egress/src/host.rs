//! The one form of a host, whatever protocol named it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A host name or an IP address. The rules, the resolver and the audit log read the same bytes.
///
/// A name is at most 253 bytes of lower-case letters, digits, hyphens and dots. Names in other scripts come as punycode.
/// An IPv4 address inside of an IPv6 one (`::ffff:127.0.0.1`) is that IPv4 address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host(Kind);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kind {
    Name(String),
    Ip(IpAddr),
}

/// The bytes are no [`Host`]. The message has the first of them, escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no host: it needs letters, digits, hyphens and dots alone, or to be an IP address")]
pub struct HostError(String);

impl Host {
    /// Longest name of the domain name system, in bytes.
    const LONGEST: usize = 253;

    /// Reads a name, an IPv4 address, or an IPv6 address in brackets.
    ///
    /// Numbers that only some resolvers take for an IPv4 address (`127.1`, `0x7f.1`, `2130706433`) are errors.
    pub fn parse(bytes: &[u8]) -> Result<Self, HostError> {
        Self::read(bytes).ok_or_else(|| HostError(bytes[..bytes.len().min(80)].escape_ascii().to_string()))
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= Self::LONGEST)?;
        if let Some(inner) = text.strip_prefix('[') {
            return Some(IpAddr::from(inner.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?).into());
        }
        if !text.split('.').all(is_label) {
            return None;
        }
        let last = text.rsplit('.').next()?.to_ascii_lowercase();
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if digits(&last) || last.strip_prefix("0x").is_some_and(hex) {
            return Some(Self(Kind::Ip(text.parse().ok()?)));
        }
        Some(Self(Kind::Name(text.to_ascii_lowercase())))
    }

    /// The name, unless it is an address.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Kind::Name(name) => Some(name),
            Kind::Ip(_) => None,
        }
    }

    /// The address, unless it is a name.
    pub fn ip(&self) -> Option<IpAddr> {
        match self.0 {
            Kind::Name(_) => None,
            Kind::Ip(ip) => Some(ip),
        }
    }
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
}

impl From<IpAddr> for Host {
    fn from(ip: IpAddr) -> Self {
        Self(Kind::Ip(ip.to_canonical()))
    }
}

/// An IPv6 address has its brackets, so that a port can follow.
impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Name(name) => out.write_str(name),
            Kind::Ip(IpAddr::V4(ip)) => ip.fmt(out),
            Kind::Ip(IpAddr::V6(ip)) => write!(out, "[{ip}]"),
        }
    }
}

/// A host and, if there is one, the port behind it. `None` if the port is not a number from 1 to 65535.
pub(crate) fn split_port(text: &[u8]) -> Option<(&[u8], Option<u16>)> {
    let Some(colon) = text.iter().rposition(|byte| *byte == b':') else { return Some((text, None)) };
    let (host, digits) = (&text[..colon], &text[colon + 1..]);
    if digits.contains(&b']') {
        return Some((text, None));
    }
    // `parse` alone would take a plus sign.
    let digits = str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    Some((host, Some(digits.parse().ok().filter(|port| *port > 0)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_spelling_of_a_host_has_one_form() {
        for (text, form) in [
            ("Example.ORG", "example.org"),
            ("xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
            ("r3---sn-a.example.org", "r3---sn-a.example.org"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::0:1]", "[::1]"),
            ("[::ffff:169.254.169.254]", "169.254.169.254"),
            ("0xcafe.example", "0xcafe.example"),
        ] {
            assert_eq!(Host::parse(text.as_bytes()).map(|host| host.to_string()), Ok(form.to_owned()));
        }
    }

    #[test]
    fn spellings_that_another_reader_could_take_for_something_else_are_errors() {
        let long = "a.".repeat(126) + "ab";
        assert_eq!(long.len(), 254);
        let texts = ". example.org. .example.org a..b -a.org a_b.org good@bad münchen.de a%2e.org *.org ::1 [::1 ::1] [::1%eth0] \
                     [127.0.0.1] a:80 127.1 0x7f.1 2130706433 0177.0.0.1 127.0.0.0x1 1.2.3.4.5 256.1.1.1 0x a/b a\\b";
        for text in texts.split_whitespace().chain(["", "a b", "a\0.org", "a\n", &long]) {
            assert!(Host::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_host_has_a_byte_outside_of_its_alphabet(
            bytes in prop_oneof![any::<Vec<u8>>(), "[a-zA-Z0-9.:_\\[\\]\\x00-]{1,20}".prop_map(String::into_bytes)]
        ) {
            if let Ok(host) = Host::parse(&bytes) {
                let text = host.to_string();
                let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
                prop_assert!(text.bytes().all(|byte| known(byte) || (host.ip().is_some() && b"[]:".contains(&byte))));
                prop_assert!(bytes.iter().all(|byte| known(byte.to_ascii_lowercase()) || b"[]:".contains(byte)));
                prop_assert_eq!(Host::parse(text.as_bytes()), Ok(host));
            }
        }
    }
}
