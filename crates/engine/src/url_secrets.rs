//! Finds secrets in URLs: `postgres://user:password@host`, `jdbc:…?password=…`.

use memchr::memmem;

/// Names of parameters with secret values, in lower case.
const PARAMETERS: [&[u8]; 11] = [
    b"password",
    b"passwd",
    b"pwd",
    b"pass",
    b"secret",
    b"token",
    b"access_token",
    b"api_key",
    b"apikey",
    b"sig",
    b"sharedaccesskey",
];

/// Returns every password in the URLs of a text, each with its URL.
pub(crate) fn passwords(text: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut found = Vec::new();
    for at in memmem::find_iter(text, b"://") {
        let scheme = text[..at].iter().rposition(|byte| !is_of_scheme(*byte)).map_or(0, |before| before + 1);
        let behind = &text[at + 3..];
        let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`');
        let end = behind.iter().position(ends).unwrap_or(behind.len());
        let url = &text[scheme..at + 3 + end];
        let rest = &behind[..end];
        found.extend(of_user(rest).map(|password| (url, password)));
        found.extend(of_parameters(rest).map(|password| (url, password)));
    }
    found
}

fn is_of_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.:".contains(&byte)
}

/// The password before the `@`.
fn of_user(rest: &[u8]) -> Option<&[u8]> {
    let end = rest.iter().position(|byte| b"/?#".contains(byte)).unwrap_or(rest.len());
    // Passwords with an unescaped `/`, `?` or `#` are invalid, but in use.
    let authority = if rest[..end].contains(&b'@') { &rest[..end] } else { before_host(rest)? };
    let user = &authority[..authority.iter().rposition(|byte| *byte == b'@')?];
    let (_, password) = user.split_at(user.iter().position(|byte| *byte == b':')? + 1);
    (!password.is_empty()).then_some(password)
}

/// Returns `//user:password@` of a URL that has one.
pub(crate) fn login(url: &[u8]) -> Option<&[u8]> {
    let begin = memmem::find(url, b"://")? + 1;
    let rest = &url[begin + 2..];
    let password = of_user(rest)?;
    // The password is a slice of the URL, and the `@` follows it.
    let end = password.as_ptr().addr() - rest.as_ptr().addr() + password.len();
    Some(&url[begin..=begin + 2 + end])
}

/// Everything up to the last `@`, if only a password can be before it: `user:pass/word@host`.
fn before_host(rest: &[u8]) -> Option<&[u8]> {
    let at = rest.iter().rposition(|byte| *byte == b'@')?;
    let colon = rest[..at].iter().position(|byte| *byte == b':')?;
    let slash = rest[..at].iter().position(|byte| *byte == b'/')?;
    // `host:8080/path@2` has a number there, and `host/a:b@c` has its path before.
    let port = &rest[colon + 1..slash.max(colon + 1)];
    (colon < slash && !port.iter().all(u8::is_ascii_digit)).then(|| &rest[..=at])
}

/// Values of parameters with secret names.
fn of_parameters(rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    rest.split(|byte| b"?&;".contains(byte)).skip(1).filter_map(|parameter| {
        let (name, value) = parameter.split_at(parameter.iter().position(|byte| *byte == b'=')?);
        let is_secret = PARAMETERS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
        (is_secret && value.len() > 1).then(|| &value[1..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = passwords(text.as_bytes()).iter().map(|(_, it)| String::from_utf8_lossy(it)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn passwords_of_urls_are_found() {
        check("postgres://u:hunter2@db/x", &["hunter2"]);
        check("postgresql+asyncpg://u:p%40ss@db:5432/x?ssl=1", &["p%40ss"]);
        check("mongodb+srv://u:p@h1,h2/db", &["p"]);
        check("redis://:only-password@localhost:6379/0", &["only-password"]);
        check("http://u:a@b:c@proxy:3128", &["a@b:c"]);
        check("http://u:pa/ss@proxy", &["pa/ss"]);
        check("a=http://u:one@h b='ftp://u:two@h'", &["one", "two"]);
        check("jdbc:postgresql://h/db?user=u&password=geheim", &["geheim"]);
        check("jdbc:sqlserver://h:1433;user=sa;Password=geheim;encrypt=true", &["geheim"]);
        check("https://x.blob.core.windows.net/c?sv=2020&sig=abc%3D", &["abc%3D"]);
    }

    #[test]
    fn other_urls_have_none() {
        for text in [
            "",
            "://",
            "https://example.com/a:b@c",
            "https://example.com:8080/path@2",
            "http://proxy:3128",
            "ssh://git@github.com/x/y",
            "postgres://u@db/x",
            "postgres://u:@db/x",
            "user:password@host",
            "https://h/?password=&token",
            "file:///home/u/x",
            "unix:path=/run/bus,guid=1",
        ] {
            check(text, &[]);
        }
    }
}
