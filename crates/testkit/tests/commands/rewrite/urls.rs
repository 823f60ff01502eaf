//! Internal URLs.

use std::path::Path;
use std::sync::Arc;

use bashful_engine::{RewriteFor, Scheme, UrlError, UrlFile};
use bashful_testkit::{Starts, finished, request};

use super::{place, rewrite, run, script, shown};

#[tokio::test]
async fn urls_are_the_paths_of_their_files() {
    let place = place();
    let engine = place.engine();
    let outcome = run(&engine, "seq 100 | tail -1").await;
    let artifact = outcome.output.artifact.expect("kept").id;
    let outcome =
        run(&engine, &format!("wc -l < artifact://{artifact}; cp \"artifact://{artifact}\" local://a/b%20c")).await;
    assert_eq!(shown(&outcome.output), "100\n");
    let outcome = run(&engine, "wc -l \"local://a/b c\" | cut -d' ' -f1; ls local://a").await;
    assert_eq!(shown(&outcome.output), "100\nb c\n");

    let outcome =
        run(&engine, "x=b; for f in local://new/$x local://a/*; do echo \"${f##*/}\"; done; ls -d local://new").await;
    assert_eq!(shown(&outcome.output), format!("b\nb c\n{}\n", place.path().join("scratch/new").display()));

    let job = engine.started_job(request("echo from a job")).await.expect("it starts");
    let jobs = place.options.jobs.as_ref().expect("there are jobs");
    jobs.wait(job.id).await.expect("it ends");
    let outcome = run(&engine, &format!("head -n1 job://{}", job.id)).await;
    assert_eq!(shown(&outcome.output), "from a job\n");

    let skill = place.path().join("skills/it's");
    std::fs::create_dir_all(skill.join("bin")).expect("made");
    std::fs::write(skill.join("bin/go"), "echo going").expect("written");
    let outcome = run(&engine, "bash skill://it%27s/bin/go; ls skill://it%27s; echo 'skill://none'").await;
    assert_eq!(shown(&outcome.output), "going\nbin\nskill://none\n");

    let mut given = request("echo \"$FILE\"; pwd");
    given.env = vec![("FILE".to_owned(), "local://x y".into()), ("OTHER".to_owned(), "https://x".into())];
    std::fs::write(place.path().join("scratch/x y"), "").expect("written");
    given.workdir = Some("skill://it's".into());
    let rewritten = engine.rewrite(given, RewriteFor::Reply).expect("rewritten");
    let outcome = finished(engine.run(rewritten.request).await.expect("it starts"));
    let expected = format!("{}\n{}\n", place.path().join("scratch/x y").display(), skill.display());
    assert_eq!(shown(&outcome.output), expected);
}

#[tokio::test]
async fn urls_of_nothing_are_refused() {
    let place = place();
    let engine = place.engine();
    let outcome = run(&engine, "seq 100 | head -1").await;
    let artifact = outcome.output.artifact.expect("kept").id;
    let skills = place.path().join("skills");
    for skill in ["one", "two"] {
        std::fs::create_dir_all(skills.join(skill)).expect("made");
    }
    let root = place.path().join("scratch");
    std::fs::create_dir_all(&root).expect("made");
    for (link, to) in [("out", "/etc"), ("dangling", "/nowhere/at/all"), ("self", "self")] {
        std::os::unix::fs::symlink(to, root.join(link)).expect("made");
    }
    std::os::unix::fs::symlink("/etc", skills.join("one/out")).expect("made");
    let unknown = format!("Unknown artifact: 99. Available: {artifact}");
    let no_file = format!(
        "skill://one/no resolved without a filesystem path and cannot be used in bash: there is no file {}",
        skills.join("one/no").display()
    );
    for (given, text) in [
        ("cat artifact://99", unknown.as_str()),
        ("cat artifact://", &unknown.replace("99", "")),
        ("cat artifact://1.txt", &unknown.replace("99", "1.txt")),
        ("cat job://7", "Unknown job: 7. Available: none"),
        ("cat skill://three", "Unknown skill: three. Available: one, two"),
        ("cat skill://one/no", &no_file),
        ("cat skill://one/../two", "Path traversal is not allowed in skill:// URLs"),
        ("cat skill://one/%2e%2E/two", "Path traversal is not allowed in skill:// URLs"),
        ("cat skill://../skills", "Path traversal is not allowed in skill:// URLs"),
        ("cat skill://one/out/passwd", "Path traversal is not allowed in skill:// URLs"),
        ("cat local://../x", "Path traversal is not allowed in local:// URLs"),
        ("cat local://a/%2e%2e/%2e%2e/x", "Path traversal is not allowed in local:// URLs"),
        ("cat local://a%2f..%2f..%2fx", "Path traversal is not allowed in local:// URLs"),
        ("cat local://out/passwd", "Path traversal is not allowed in local:// URLs"),
        ("echo > local://dangling", "Path traversal is not allowed in local:// URLs"),
        ("cat local://self", "Path traversal is not allowed in local:// URLs"),
        ("ls local://*/../../x", "Path traversal is not allowed in local:// URLs"),
        ("cat local://x%00y", "Path traversal is not allowed in local:// URLs"),
        ("cat agent://1", "Unsupported internal URL in bash command: agent://1"),
    ] {
        let error = engine.rewrite(request(given), RewriteFor::Reply).expect_err(given);
        assert_eq!(error.to_string(), text, "{given}");
    }
}

/// A scheme that a host brings along.
#[derive(Debug)]
struct Notes;

impl Scheme for Notes {
    fn name(&self) -> &'static str {
        "note"
    }

    fn find(&self, name: &str) -> Result<UrlFile, UrlError> {
        Ok(UrlFile { path: Path::new("/notes").join(name), wanted: None })
    }
}

#[tokio::test]
async fn a_host_adds_schemes_of_its_own() {
    let mut place = place();
    place.options.rewriting.schemes.push(Arc::new(Notes));
    assert_eq!(script(&rewrite(&place.engine(), "cat note://7")), "cat /notes/7");
}
