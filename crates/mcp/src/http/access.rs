//! Access control: host, origin and token.
//!
//! A web page can send requests to this machine, and by DNS rebinding even read the answers. So a request must name a
//! known host, must not come from a foreign page, and must have the token. All of this is checked before a byte of
//! the body is read.

use std::net::IpAddr;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::{Authority, Uri};

use super::refusal::HttpRefusal;
use super::token::Token;

/// The path of the server.
pub(crate) const PATH: &str = "/mcp";

/// The rules for clients over HTTP.
#[derive(Debug, Clone)]
pub struct AccessRules {
    /// The token that every request needs.
    pub token: Token,
    /// Further host names that requests may be addressed to or come from, beside those of this machine.
    pub hosts: Vec<String>,
    /// Most sessions. A further one replaces an idle one.
    pub sessions: usize,
    /// Time after which an idle session ends.
    pub idle: Duration,
    /// File descriptors that this process may open. Connections use at most two thirds of them.
    pub descriptors: u64,
}

impl AccessRules {
    /// Checks a request that arrived at this local address.
    pub(crate) fn admit(&self, request: &Parts, at: IpAddr) -> Result<(), HttpRefusal> {
        let mut hosts = request.headers.get_all(HOST).iter();
        // With two headers, a proxy could see another host than this server.
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(HttpRefusal::Host) };
        let named = [host.to_str().ok().and_then(|host| host.parse().ok()), request.uri.authority().cloned()];
        if named[0].is_none() || !named.iter().flatten().all(|host| self.is_meant(host, at)) {
            return Err(HttpRefusal::Host);
        }
        if let [Some(host), Some(target)] = &named
            && !is_same(host, target)
        {
            return Err(HttpRefusal::HostsDiffer);
        }
        if !request.headers.get_all(ORIGIN).iter().all(|origin| self.is_ours(origin)) {
            return Err(HttpRefusal::Origin);
        }
        if request.uri.path() != PATH {
            return Err(HttpRefusal::Path);
        }
        match shown(&request.headers) {
            Some(shown) if self.token.is(shown) => Ok(()),
            Some(_) => Err(HttpRefusal::WrongToken),
            None => Err(HttpRefusal::NoToken),
        }
    }

    /// True if a host names this server. The local address of the connection is always valid: unlike a name, an
    /// address cannot be rebound.
    fn is_meant(&self, authority: &Authority, at: IpAddr) -> bool {
        let is_used = address(authority).is_some_and(|address| address == at.to_canonical());
        is_used || self.is_known(authority)
    }

    /// True if an origin is this server's own.
    fn is_ours(&self, origin: &HeaderValue) -> bool {
        let Some(origin) = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok()) else { return false };
        matches!(origin.scheme_str(), Some("http" | "https"))
            && origin.authority().is_some_and(|authority| self.is_known(authority))
    }

    fn is_known(&self, authority: &Authority) -> bool {
        let host = authority.host();
        let is_named = |name: &str| host.eq_ignore_ascii_case(name);
        // No valid origin has a user name or password.
        !authority.as_str().contains('@')
            && (is_named("localhost")
                || address(authority).is_some_and(|address| address.is_loopback())
                || self.hosts.iter().any(|name| is_named(name)))
    }
}

/// True if both name the same host and port.
fn is_same(left: &Authority, right: &Authority) -> bool {
    let port = |authority: &Authority| authority.port_u16().unwrap_or(80);
    left.host().eq_ignore_ascii_case(right.host()) && port(left) == port(right)
}

/// The IP address of a host that is not a name.
fn address(authority: &Authority) -> Option<IpAddr> {
    authority.host().trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// The token in the headers.
fn shown(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(AUTHORIZATION)?.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    const TOKEN: &str = "Bearer 0123456789abcdef";

    #[track_caller]
    fn check(headers: &[(&str, &str)], expected: Result<(), HttpRefusal>) {
        check_target(PATH, headers, expected);
    }

    #[track_caller]
    fn check_target(target: &str, headers: &[(&str, &str)], expected: Result<(), HttpRefusal>) {
        let token = Token::new(&TOKEN[7..]).expect("it is one");
        let access_rules = AccessRules {
            token,
            hosts: vec!["box.example".to_owned()],
            sessions: 1,
            idle: Duration::ZERO,
            descriptors: 1024,
        };
        let mut request = Request::builder().uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        assert_eq!(access_rules.admit(&parts, [192, 168, 1, 5].into()), expected, "{target} {headers:?}");
    }

    #[test]
    fn only_hosts_that_are_ours_are_served() {
        for host in
            ["localhost", "LocalHost:8331", "127.0.0.1:80", "127.9.9.9", "[::1]:1", "192.168.1.5", "Box.example:9"]
        {
            check(&[("host", host), ("authorization", TOKEN)], Ok(()));
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "192.168.1.6",
            "0.0.0.0",
            "2130706433",
            "127.1",
            "localhost.",
            "me@localhost",
            "localhost@evil.example",
            "",
            "::1",
            "box.example.",
            "[::1",
        ] {
            check(&[("host", host), ("authorization", TOKEN)], Err(HttpRefusal::Host));
        }
        check(&[("authorization", TOKEN)], Err(HttpRefusal::Host));
        check(&[("host", "localhost"), ("host", "localhost"), ("authorization", TOKEN)], Err(HttpRefusal::Host));
    }

    #[test]
    fn a_target_with_a_host_has_to_agree_with_the_header() {
        for (target, expected) in [
            ("http://localhost:8331/mcp", Ok(())),
            ("http://LOCALHOST:8331/mcp", Ok(())),
            ("http://localhost/mcp", Err(HttpRefusal::HostsDiffer)),
            ("http://127.0.0.1:8331/mcp", Err(HttpRefusal::HostsDiffer)),
            ("http://evil.example:8331/mcp", Err(HttpRefusal::Host)),
        ] {
            check_target(target, &[("host", "localhost:8331"), ("authorization", TOKEN)], expected);
        }
        check_target("http://localhost/mcp", &[("host", "localhost:80"), ("authorization", TOKEN)], Ok(()));
    }

    #[test]
    fn only_pages_from_here_are_served() {
        let with = |origin| [("host", "localhost"), ("authorization", TOKEN), ("origin", origin)];
        for origin in ["http://localhost:6274", "https://127.0.0.1", "http://[::1]:3", "https://box.example"] {
            check(&with(origin), Ok(()));
        }
        // Other servers may share the address at another port.
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://192.168.1.5",
            "file://localhost",
            "localhost",
            "http://a@localhost",
        ] {
            check(&with(origin), Err(HttpRefusal::Origin));
        }
    }

    #[test]
    fn the_token_is_asked_of_everybody() {
        for (shown, refusal) in [
            ("", HttpRefusal::NoToken),
            ("0123456789abcdef", HttpRefusal::NoToken),
            ("Basic 0123456789abcdef", HttpRefusal::NoToken),
            ("Bearer", HttpRefusal::NoToken),
            ("Bearer ", HttpRefusal::WrongToken),
            ("Bearer 0123456789abcdeg", HttpRefusal::WrongToken),
            ("Bearer 0123456789abcdef, Bearer 0123456789abcdef", HttpRefusal::WrongToken),
        ] {
            check(&[("host", "localhost"), ("authorization", shown)], Err(refusal));
        }
        check(&[("host", "localhost")], Err(HttpRefusal::NoToken));
        check(&[("host", "localhost"), ("authorization", "bearer  0123456789abcdef")], Ok(()));
    }
}
