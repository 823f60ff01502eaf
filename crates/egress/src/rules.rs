//! The list of hosts that a command may reach, and the one decision about it.

use std::net::{IpAddr, Ipv6Addr};

use crate::host::{Host, split_port};
use crate::presets::{PRESETS, Preset};

/// Ports of a rule that names none.
const WEB: &[u16] = &[80, 443];

/// A list of hosts and ports. The empty list allows nothing.
#[derive(Debug, Clone, Default)]
pub struct Rules(Vec<Rule>);

#[derive(Debug, Clone)]
struct Rule {
    hosts: Hosts,
    ports: Vec<u16>,
}

#[derive(Debug, Clone)]
enum Hosts {
    One(Host),
    /// A dot and the name that they end with.
    Below(String),
}

/// The answer of a list about a host and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A rule has this host with this port.
    Allowed,
    /// No rule has it.
    NotListed,
}

/// A text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no host: write `example.org`, `*.example.org`, an IP address, `@registries` or `@forges`, \
     and `:PORT` behind it for another port than 80 and 443"
)]
pub struct RuleError(String);

impl Rules {
    /// Reads rules, and names the first text that is none.
    ///
    /// - `example.org`: that host alone.
    /// - `*.example.org`: every host below it, at any depth. `example.org` itself is not meant.
    /// - `192.0.2.1`, `[2001:db8::1]`: an address. Hosts that resolve to a private address need it too.
    /// - `@registries`: downloads for cargo, pip, npm, apt, go, gem, maven and the like.
    /// - `@forges`: GitHub, GitLab, Codeberg and Bitbucket, also by ssh.
    ///
    /// `:8080` behind a rule is its only port. Without it, the ports are 80 and 443, and also 22 for `@forges`.
    pub fn parse<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Self, RuleError> {
        let mut rules = Vec::new();
        for text in texts {
            let text = text.as_ref();
            // Without a port, an IPv6 address needs no brackets.
            let bracketed = text.parse::<Ipv6Addr>().map(|ip| format!("[{ip}]"));
            let read = || {
                let (name, port) = split_port(bracketed.as_deref().unwrap_or(text).as_bytes())?;
                match PRESETS.iter().find(|preset| preset.name.as_bytes() == name) {
                    Some(Preset { ports, hosts, .. }) => {
                        let hosts = hosts.iter().flat_map(|(_, hosts)| hosts.split_whitespace());
                        hosts.map(|host| Rule::read(host.as_bytes(), port, ports)).collect()
                    }
                    None => Some(vec![Rule::read(name, port, WEB)?]),
                }
            };
            rules.append(&mut read().ok_or_else(|| RuleError(text.to_owned()))?);
        }
        Ok(Self(rules))
    }

    /// Decides about a host as it was asked for, before its name is resolved.
    ///
    /// Every protocol of the proxy asks here, and nowhere else.
    pub fn decide(&self, host: &Host, port: u16) -> Verdict {
        let has = |rule: &Rule| {
            rule.ports.contains(&port)
                && match &rule.hosts {
                    Hosts::One(one) => one == host,
                    Hosts::Below(end) => host.name().is_some_and(|name| name.ends_with(end)),
                }
        };
        if self.0.iter().any(has) { Verdict::Allowed } else { Verdict::NotListed }
    }

    /// Decides about an address that `host` resolved to.
    ///
    /// The owner of a listed name decides what it resolves to. So an address that the internet does not route needs a
    /// rule for itself, or to be asked for literally. `localhost` names the loopback addresses.
    pub(crate) fn may_dial(&self, host: &Host, ip: IpAddr, port: u16) -> bool {
        is_global(ip)
            || host.ip() == Some(ip)
            || (host.name() == Some("localhost") && ip.is_loopback())
            || self.decide(&Host::from(ip), port) == Verdict::Allowed
    }
}

impl Rule {
    fn read(name: &[u8], port: Option<u16>, ports: &[u16]) -> Option<Self> {
        let hosts = if let Some(name) = name.strip_prefix(b"*.") {
            Hosts::Below(format!(".{}", Host::parse(name).ok()?.name()?))
        } else {
            Hosts::One(Host::parse(name).ok()?)
        };
        Some(Self { hosts, ports: port.map_or_else(|| ports.to_vec(), |port| vec![port]) })
    }
}

/// An address that the internet routes to one place, neither this machine nor a network around it.
///
/// IPv4 addresses inside of IPv6 ones (mapped, NAT64, 6to4) count as what they lead to.
fn is_global(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => !matches!(
            ip.octets(),
            [0 | 10 | 127 | 224.., ..]
                | [100, 64..=127, ..]
                | [169, 254, ..]
                | [172, 16..=31, ..]
                | [192, 168, ..]
                | [192, 0, 0, _]
        ),
        IpAddr::V6(ip) => match ip.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
                is_global(IpAddr::from([a, b, c, d]))
            }
            // Global addresses are 2000::/3. Teredo (2001:0::/32) hides an address behind a server's.
            [0x2001, 0, ..] => false,
            [first, ..] => first & 0xe000 == 0x2000,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> Host {
        Host::parse(text.as_bytes()).expect("a host")
    }

    fn rules(text: &str) -> Rules {
        Rules::parse([text]).expect("a rule")
    }

    #[track_caller]
    fn check(rule: &str, allowed: &[(&str, u16)], not_listed: &[(&str, u16)]) {
        for (targets, verdict) in [(allowed, Verdict::Allowed), (not_listed, Verdict::NotListed)] {
            for (name, port) in targets {
                assert_eq!(rules(rule).decide(&host(name), *port), verdict, "{rule}, {name}:{port}");
            }
        }
    }

    #[test]
    fn each_form_of_a_rule_allows_its_hosts_and_ports_alone() {
        check(
            "Example.org",
            &[("example.org", 80), ("EXAMPLE.org", 443)],
            &[("example.org", 22), ("a.example.org", 80), ("example.org.evil.net", 80), ("xexample.org", 80)],
        );
        check("example.org:8080", &[("example.org", 8080)], &[("example.org", 80), ("example.org", 443)]);
        check(
            "*.example.org",
            &[("a.example.org", 443), ("a.b.example.org", 80)],
            &[("example.org", 443), ("aexample.org", 443), ("a.example.org", 22)],
        );
        check("*.example.org:22", &[("a.example.org", 22)], &[("a.example.org", 443)]);
        check("10.0.0.1", &[("10.0.0.1", 80), ("[::ffff:10.0.0.1]", 80)], &[("10.0.0.2", 80), ("10.0.0.1", 22)]);
        check("[::1]:80", &[("[0::1]", 80)], &[("[::1]", 443), ("[::2]", 80), ("127.0.0.1", 80)]);
        check("::1", &[("[::1]", 443)], &[("[::1]", 22)]);
        check(
            "@registries",
            &[("index.crates.io", 443), ("deb.debian.org", 80)],
            &[("pypi.org", 22), ("github.com", 443)],
        );
        check("@forges", &[("github.com", 22), ("ssh.github.com", 443)], &[("github.com", 9418), ("pypi.org", 443)]);
        check("@forges:443", &[("raw.githubusercontent.com", 443)], &[("github.com", 22)]);
    }

    #[test]
    fn a_text_that_is_no_rule_is_named() {
        let texts = "* *. *.10.0.0.1 a*.org a.*.org *.*.org https://example.org example.org/ a_b.org example.org: example.org:0 \
                     example.org:65536 example.org:+80 example.org:http ::1:x @all 127.1 a,b user@example.org [::1]80";
        for text in texts.split_whitespace().chain([""]) {
            let error = Rules::parse(["example.org", text]).expect_err(text);
            assert!(error.to_string().starts_with(&format!("`{text}` names no host")), "{error}");
        }
    }

    #[test]
    fn addresses_that_the_internet_does_not_route_need_a_rule_of_their_own() {
        let none = Rules::default();
        let name = host("example.org");
        let private = "127.0.0.1 127.9.9.9 ::1 0.0.0.0 :: 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 \
                       100.127.0.1 169.254.169.254 fe80::1 fc00::1 fd12::1 224.0.0.1 ff02::1 255.255.255.255 \
                       ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::a9fe:a9fe 2002:7f00:1::";
        for text in private.split_whitespace() {
            let ip: IpAddr = text.parse().expect(text);
            assert!(!none.may_dial(&name, ip, 80), "{text}");
            assert!(rules(text).may_dial(&name, ip, 80), "{text}");
            assert!(none.may_dial(&Host::from(ip), ip.to_canonical(), 80), "{text}");
        }
        for text in ["1.1.1.1", "100.63.0.1", "172.32.0.1", "192.0.2.1", "2606:4700::1111", "64:ff9b::101:101"] {
            assert!(none.may_dial(&name, text.parse().expect(text), 80), "{text}");
        }
        let localhost = host("localhost");
        assert!(none.may_dial(&localhost, Ipv6Addr::LOCALHOST.into(), 80));
        assert!(!none.may_dial(&localhost, [10, 0, 0, 1].into(), 80));
    }
}
