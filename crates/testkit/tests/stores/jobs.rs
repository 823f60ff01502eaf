//! A job goes on whatever becomes of those who started it, says how it ended, and can be found, read and stopped by
//! anybody who knows its number.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bashful_engine::{
    ByteSize, ControlError, CreateJobError, End, Exit, Followed, GetJobError, Grace, Input, JobInput, JobInputError,
    JobKind, JobLimits, JobPart, JobRecord, JobState, JobStore, KeeperProgram, LeftoverPolicy, Lifetime,
    RemoveJobError, Reply, Request, RunError, SendError, Stop, StopReason, error_chain,
};
use bashful_testkit::{Place, Starts, WIDE, eventually, patient, request, run};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::PUPPET;

fn store(place: &Place) -> Arc<JobStore> {
    Arc::clone(place.options.jobs.as_ref().expect("a place has one"))
}

/// Another store over the same directory, with other limits.
fn limited(place: &mut Place, limits: JobLimits) -> Arc<JobStore> {
    let jobs = Arc::new(JobStore::new(place.path().join("jobs"), limits));
    place.options.jobs = Some(Arc::clone(&jobs));
    jobs
}

async fn start(place: &Place, script: &str) -> JobRecord {
    start_request(place, request(script)).await
}

async fn start_request(place: &Place, request: Request) -> JobRecord {
    place.engine().started_job(request).await.expect("it starts")
}

async fn over(store: &JobStore, id: u64) -> JobRecord {
    tokio::time::timeout(WIDE, store.wait(id)).await.expect("it ends").expect("it is there")
}

async fn gone(store: &JobStore, id: u64) -> JobRecord {
    tokio::time::timeout(WIDE, store.wait_until_gone(id)).await.expect("it ends").expect("it is there")
}

fn written(job: &JobRecord) -> String {
    std::fs::read_to_string(&job.output_file).expect("there is output")
}

fn pid(job: &JobRecord) -> Pid {
    Pid::from_raw(job.pid.expect("it is written down")).expect("a process id")
}

/// Runs a script as a job and compares what its file ends with, and its end.
#[track_caller]
fn check_ends(script: &str, text: &str, end: End) {
    block_on(async {
        let place = Place::new(PUPPET);
        let job = start(&place, script).await;
        let job = over(&store(&place), job.id).await;
        assert_eq!((written(&job).as_str(), job.end()), (text, Some(end)));
        assert_eq!(job.state, JobState::Ended(end));
    });
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

#[test]
fn the_output_file_says_how_it_ended() {
    let own = |code| End::Own(Exit::Code(code));
    check_ends("echo hi", "hi\n\n[background process completed]\n", own(0));
    check_ends("true", "\n[background process completed]\n", own(0));
    check_ends("printf hi", "hi\n\n[background process completed]\n", own(0));
    check_ends("echo hi; exit 3", "hi\n\n[background process failed: exit status: 3]\n", own(3));
    check_ends("kill -TERM $$", "\n[background process failed: signal: 15 (SIGTERM)]\n", End::Own(Exit::Signal(15)));
}

#[tokio::test]
async fn its_time_is_up_without_anybody_who_started_it() {
    let place = Place::new(PUPPET);
    let mut asked = request("echo begun; sleep 1000");
    asked.lifetime = Some(Lifetime(Duration::from_millis(300)));
    let job = start_request(&place, asked).await;
    let job = over(&store(&place), job.id).await;
    assert_eq!(job.end(), Some(End::Stopped { why: StopReason::TimeUp, exit: Exit::Signal(15) }));
    assert_eq!(written(&job), "begun\n\n[background process failed: timed out after 0.3s]\n");
    place.check_nothing_survives();
}

#[tokio::test]
async fn its_id_is_that_of_its_group_and_killing_the_group_ends_what_escaped_from_it_too() {
    let place = Place::new(PUPPET);
    let job = start(&place, r#""$PUPPET" setsid make escaped hold & sleep 1000"#).await;
    place.wait_for("escaped");
    kill_process_group(pid(&job), Signal::KILL).expect("the group is there");
    let job = gone(&store(&place), job.id).await;
    assert_eq!(job.state, JobState::Ended(End::Own(Exit::Signal(9))));
    assert_eq!(written(&job), "\n[background process failed: signal: 9 (SIGKILL)]\n");
    place.check_nothing_survives();
}

#[tokio::test]
async fn stopping_ends_the_whole_tree_and_is_written_down() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let job = start(&place, r#""$PUPPET" setsid make escaped hold & sleep 1000"#).await;
    place.wait_for("escaped");
    jobs.stop(job.id, Stop::Ask).await.expect("its keeper is told");
    let job = gone(&jobs, job.id).await;
    assert_eq!(job.end(), Some(End::Stopped { why: StopReason::Cancelled, exit: Exit::Signal(15) }));
    assert_eq!(written(&job), "\n[background process failed: cancelled]\n");
    place.check_nothing_survives();
}

#[tokio::test]
async fn asked_twice_it_is_killed_at_once() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_hours(1));
    let jobs = store(&place);
    let job = start(&place, "trap '' TERM; echo deaf; while :; do sleep 1000; done").await;
    assert!(eventually(|| written(&job).contains("deaf")));
    jobs.stop(job.id, Stop::Ask).await.expect("its keeper is told");
    jobs.stop(job.id, Stop::Ask).await.expect("its keeper is told again");
    let job = gone(&jobs, job.id).await;
    assert_eq!(job.end(), Some(End::Stopped { why: StopReason::Cancelled, exit: Exit::Signal(9) }));
}

#[tokio::test]
async fn a_signal_reaches_every_process_and_does_nothing_else() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let job = start(&place, "trap 'echo heard' USR1; echo ready; while :; do sleep 0.01; done").await;
    assert!(eventually(|| written(&job).contains("ready")));
    jobs.stop(job.id, Stop::Signal(10)).await.expect("its keeper is told");
    assert!(eventually(|| written(&job).contains("heard")), "the trap ran");
    assert_eq!(jobs.get(job.id).expect("it is there").state, JobState::Running);
    jobs.stop(job.id, Stop::Signal(9)).await.expect("its keeper is told");
    assert_eq!(gone(&jobs, job.id).await.end(), Some(End::Own(Exit::Signal(9))));
}

#[tokio::test]
async fn what_a_job_leaves_behind_neither_holds_up_its_end_nor_is_forgotten() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let job = start(
        &place,
        r#"(exec -a puppet "$PUPPET" make holds hold) & until [ -e holds ]; do sleep 0.01; done; exit 4"#,
    )
    .await;
    let job = over(&jobs, job.id).await;
    let JobState::Left { end, processes, .. } = &job.state else { panic!("something is left: {job:?}") };
    assert_eq!((*end, processes.len()), (End::Own(Exit::Code(4)), 1));
    assert_eq!(processes[0].command, "puppet make holds hold");
    assert!(matches!(jobs.remove(job.id), Err(RemoveJobError::Live { .. })));
    jobs.stop(job.id, Stop::Ask).await.expect("its keeper is told");
    let job = gone(&jobs, job.id).await;
    assert_eq!(job.state, JobState::Ended(End::Own(Exit::Code(4))), "it ended as its shell did");
    place.check_nothing_survives();
}

#[tokio::test]
async fn what_a_job_leaves_behind_is_stopped_if_the_settings_say_so() {
    let mut place = Place::new(PUPPET);
    place.options.leftovers = LeftoverPolicy::Stop;
    let job = start(&place, r#""$PUPPET" setsid hold & exit 4"#).await;
    let job = over(&store(&place), job.id).await;
    assert_eq!(job.state, JobState::Ended(End::Own(Exit::Code(4))));
    place.check_nothing_survives();
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_a_job() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let outcome = run(&place.engine(), r#""$PUPPET" chatter failed & echo hi"#).await;
    let left = outcome.leftover.expect("the chatterer is named");
    let job = jobs.get(left.job.expect("it is a job")).expect("it is there");
    assert_eq!((job.kind, job.end()), (JobKind::Leftover, Some(End::Own(Exit::Code(0)))));
    assert!(job.is_live() && !job.is_over());
    assert_eq!(left.output_file.as_ref(), Some(&job.output_file));
    assert!(eventually(|| written(&job).lines().count() > 20), "what it writes arrives");
    assert!(written(&job).starts_with("hi\n") || written(&job).contains("\nhi\n"));
    jobs.stop(job.id, Stop::Ask).await.expect("its keeper is told");
    let job = over(&jobs, job.id).await;
    assert!(written(&job).ends_with("\n\n[background processes ended]\n"));
    assert!(!place.path().join("failed").exists(), "it could always write");
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_command_that_outlasts_patience_becomes_a_job_and_loses_nothing() {
    let place = Place::new(PUPPET);
    let (engine, jobs) = (place.engine(), store(&place));
    let asked =
        request("for i in {1..3000}; do echo line $i; done; until [ -e go ]; do sleep 0.01; done; echo end; exit 5");
    let reply = engine.call(asked, patient(Duration::from_millis(200))).await.expect("it starts");
    let sent = reply.job().expect("it waits for us");
    assert_eq!(sent.kind, JobKind::Outlasted);
    drop(engine);
    std::fs::write(place.path().join("go"), "").expect("it may go on");
    let job = over(&jobs, sent.id).await;
    assert_eq!(job.state, JobState::Ended(End::Own(Exit::Code(5))));
    let lines: Vec<String> = (1..=3000).map(|line| format!("line {line}\n")).collect();
    assert_eq!(written(&job), format!("{}end\n\n[background process failed: exit status: 5]\n", lines.concat()));
}

#[tokio::test]
async fn a_command_with_an_artifact_goes_on_into_it_as_a_job() {
    let place = Place::new(PUPPET);
    let (engine, jobs) = (place.engine(), store(&place));
    let asked = request("seq 200000; until [ -e go ]; do sleep 0.01; done; echo end");
    let reply = engine.call(asked, patient(Duration::from_millis(500))).await.expect("it starts");
    let sent = reply.job().expect("it waits for us");
    std::fs::write(place.path().join("go"), "").expect("it may go on");
    let job = over(&jobs, sent.id).await;
    let numbers: Vec<String> = (1..=200_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(written(&job), format!("{}end\n\n[background process completed]\n", numbers.concat()));
}

#[tokio::test]
async fn reading_takes_nothing_away() {
    let place = Place::new(PUPPET);
    let job = start(&place, "printf 'one\\ntwo\\nthré'").await;
    let job = over(&store(&place), job.id).await;
    for _ in 0..2 {
        let text = job.text(JobPart::Since(4), ByteSize(4)).expect("it is readable");
        assert_eq!((text.raw.as_slice(), text.range), (&b"two\n"[..], 4..8));
    }
    let cut = job.text(JobPart::Since(8), ByteSize(4)).expect("it is readable");
    assert_eq!((cut.raw.as_slice(), cut.range), (&b"thr"[..], 8..11), "not within a character");
    let last = job.text(JobPart::LastLines(2), ByteSize::kib(1)).expect("it is readable");
    assert_eq!(last.raw, b"\n[background process completed]\n");
    let behind = job.text(JobPart::Since(1 << 40), ByteSize::kib(1)).expect("it is readable");
    assert_eq!((behind.raw.len(), behind.range.start), (0, behind.total));
}

#[tokio::test]
async fn a_follower_sees_everything_and_the_end() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let job = start(&place, "for i in 1 2 3; do echo $i; sleep 0.05; done").await;
    let mut follow = jobs.follow(job.id, 0).expect("it can be followed");
    let mut seen = Vec::new();
    let end = loop {
        match tokio::time::timeout(WIDE, follow.next()).await.expect("something comes").expect("it is readable") {
            Followed::Output { offset, bytes } => {
                assert_eq!(offset, seen.len() as u64);
                seen.extend(bytes);
            }
            Followed::Missing(missing) => panic!("{missing}"),
            Followed::Over(job) => break *job,
        }
    };
    assert_eq!(end.end(), Some(End::Own(Exit::Code(0))));
    assert_eq!(String::from_utf8_lossy(&seen), "1\n2\n3\n\n[background process completed]\n");
}

#[tokio::test]
async fn a_job_reads_what_it_is_sent_until_that_is_closed() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let mut asked = request("cat; echo over");
    asked.input = Input::Open;
    let job = start_request(&place, asked).await;
    let send = |id, text: &str, end| {
        let inputs = place.engine().job_inputs().expect("a store of jobs");
        let input = JobInput { text: text.into(), end, ..JobInput::default() };
        async move { inputs.send(id, input, WIDE).await }
    };
    send(job.id, "one\n", false).await.expect("it is taken");
    assert!(eventually(|| written(&job) == "one\n"));
    send(job.id, "two\n", true).await.expect("it is taken");
    let job = over(&jobs, job.id).await;
    assert_eq!(written(&job), "one\ntwo\nover\n\n[background process completed]\n");
    let ended = send(job.id, "x", false).await;
    assert!(matches!(ended, Err(JobInputError::Send(SendError::Control(ControlError::Ended { .. })))), "{ended:?}");
    let deaf = start(&place, "sleep 1000").await;
    let unread = send(deaf.id, "x", false).await;
    assert!(matches!(unread, Err(JobInputError::Send(SendError::NoInput { .. }))), "{unread:?}");
    jobs.stop(deaf.id, Stop::Signal(9)).await.expect("its keeper is told");
    gone(&jobs, deaf.id).await;
}

#[tokio::test]
async fn a_job_whose_keeper_was_killed_is_told_as_lost() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let job = start(&place, "echo $PPID > keeper.new; mv keeper.new keeper; sleep 1000").await;
    let keeper: i32 = place.wait_for("keeper").trim().parse().expect("a process id");
    kill_process(Pid::from_raw(keeper).expect("a process id"), Signal::KILL).expect("it is there");
    let job = over(&jobs, job.id).await;
    assert!(job.is_lost(), "{job:?}");
    assert!(matches!(jobs.stop(job.id, Stop::Ask).await, Err(ControlError::Lost { .. })));
    place.check_nothing_survives();
    jobs.remove(job.id).expect("it can be removed");
}

/// Lets a host do something with a job, kills the host, and tells what became of the job.
async fn after_the_host_was_killed(script: &str, then: &str) -> (Place, JobRecord) {
    use std::io::BufRead;
    let place = Place::new(PUPPET);
    let mut command = std::process::Command::new(PUPPET);
    command.arg("host").arg(place.path().join("jobs")).args([script, then]).current_dir(place.path());
    command.env_clear().envs(place.options.host_environment.iter().cloned()).stdout(std::process::Stdio::piped());
    let mut host = command.spawn().expect("a host");
    let mut line = String::new();
    std::io::BufReader::new(host.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    host.kill().expect("it is there");
    host.wait().expect("it ends");
    std::fs::write(place.path().join("go"), "").expect("it may go on");
    let id = line.trim().parse().expect("a number");
    let job = gone(&store(&place), id).await;
    (place, job)
}

const WAITS: &str = "echo begun; until [ -e go ]; do sleep 0.01; done; echo end; exit 3";

#[tokio::test]
async fn a_job_outlives_its_host_in_every_state() {
    for then in ["background", "outlast"] {
        let (_place, job) = after_the_host_was_killed(WAITS, then).await;
        assert_eq!(job.state, JobState::Ended(End::Own(Exit::Code(3))), "{then}");
        assert_eq!(written(&job), "begun\nend\n\n[background process failed: exit status: 3]\n", "{then}");
    }
}

#[tokio::test]
async fn a_stop_goes_on_when_the_host_that_asked_for_it_is_killed() {
    let deaf = "trap '' TERM; while :; do sleep 1000; done";
    let (place, job) = after_the_host_was_killed(deaf, "stop").await;
    let Some(End::Stopped { why: StopReason::Cancelled, .. }) = job.end() else { panic!("it was stopped: {job:?}") };
    place.check_nothing_survives();
}

#[tokio::test]
async fn what_never_was_and_what_was_removed_are_told_apart() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    assert!(matches!(jobs.get(1), Err(GetJobError::Never { id: 1 })));
    let job = start(&place, "true").await;
    gone(&jobs, job.id).await;
    jobs.remove(job.id).expect("it can be removed");
    assert!(matches!(jobs.get(1), Err(GetJobError::Removed { id: 1 })));
    assert!(matches!(jobs.get(2), Err(GetJobError::Never { id: 2 })));
    let next = start(&place, "true").await;
    assert_eq!(next.id, 2, "a number is never given out twice");
    gone(&jobs, next.id).await;
}

#[tokio::test]
async fn one_too_many_is_refused_with_a_list_of_those_that_run() {
    let mut place = Place::new(PUPPET);
    let jobs = limited(&mut place, JobLimits { live: 2, ..JobLimits::default() });
    let first = start(&place, "sleep 1000 # first").await;
    let second = start(&place, "sleep 1000 # second").await;
    let refused = place.engine().started_job(request("true")).await;
    let Err(RunError::Job(CreateJobError::TooMany(error))) = refused else { panic!("it is refused: {refused:?}") };
    assert_eq!(error.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), [first.id, second.id]);
    assert!(error.to_string().contains("(sleep 1000 # first), 2 (sleep 1000 # second)"), "{error}");
    jobs.stop(first.id, Stop::Signal(9)).await.expect("its keeper is told");
    gone(&jobs, first.id).await;
    let third = start(&place, "true").await;
    gone(&jobs, third.id).await;
    jobs.stop(second.id, Stop::Signal(9)).await.expect("its keeper is told");
    gone(&jobs, second.id).await;
}

#[tokio::test]
async fn a_flood_is_held_within_its_limit_and_offsets_stay_true() {
    use std::os::unix::fs::MetadataExt;
    let mut place = Place::new(PUPPET);
    let limit = ByteSize::mib(4);
    let jobs = limited(&mut place, JobLimits { output: limit, ..JobLimits::default() });
    let job = start(&place, "seq 1 12000000").await;
    let job = gone(&jobs, job.id).await;
    let facts = job.output_file.metadata().expect("it is there");
    let whole: u64 = (1..=12_000_000_u64).map(|number| number.to_string().len() as u64 + 1).sum();
    assert_eq!(facts.len(), whole + "\n[background process completed]\n".len() as u64);
    // The test polls every few milliseconds, and the end of a flood may come in between.
    assert!(facts.blocks() * 512 < whole / 2, "{} of {whole} bytes are on the disk", facts.blocks() * 512);
    let [gap] = job.missing().try_into().expect("one part is missing");
    assert_eq!(gap.range.start, limit.0 / 2);
    let last = job.text(JobPart::LastLines(4), ByteSize::kib(1)).expect("it is readable");
    assert_eq!(last.raw, b"11999999\n12000000\n\n[background process completed]\n");
    let around = job.text(JobPart::Since(limit.0 / 2 - 8), ByteSize(64)).expect("it is readable");
    assert!(String::from_utf8_lossy(&around.raw).contains("are missing: the output was larger than its limit"));
}

#[tokio::test]
async fn what_is_old_or_too_much_is_swept_and_what_runs_stays() {
    let mut place = Place::new(PUPPET);
    let jobs = limited(&mut place, JobLimits { kept: 2, ..JobLimits::default() });
    let runs = start(&place, "sleep 1000").await;
    for _ in 0..4 {
        let job = start(&place, "true").await;
        gone(&jobs, job.id).await;
    }
    assert_eq!(jobs.sweep().expect("it is swept"), [2, 3]);
    let ids = |jobs: &JobStore| jobs.list().expect("a list").iter().map(|job| job.id).collect::<Vec<_>>();
    assert_eq!(ids(&jobs), [1, 4, 5]);
    let aged = limited(&mut place, JobLimits { age: Duration::from_nanos(1), ..JobLimits::default() });
    assert_eq!(aged.sweep().expect("it is swept"), [4, 5]);
    assert_eq!(ids(&jobs), [runs.id]);
    jobs.stop(runs.id, Stop::Signal(9)).await.expect("its keeper is told");
    gone(&jobs, runs.id).await;
}

/// As if the clock had been set back an hour since a job began.
fn set_clock_back(job: &Path) {
    let path = job.join("status.json");
    let text = std::fs::read_to_string(&path).expect("a status");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_millis();
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.split_once("_unix_ms\": ") {
            Some((name, _)) => format!("{name}_unix_ms\": {},", now + 3_600_000),
            None => line.to_owned(),
        })
        .collect();
    std::fs::write(path, lines.join("\n")).expect("it is written");
}

#[tokio::test]
async fn no_duration_is_negative_when_the_clock_was_set_back() {
    let mut place = Place::new(PUPPET);
    let jobs = limited(&mut place, JobLimits { age: Duration::from_secs(1), ..JobLimits::default() });
    let job = start(&place, "sleep 1000").await;
    set_clock_back(&place.path().join("jobs/1"));
    let now = jobs.get(job.id).expect("it is there");
    assert!(now.began > SystemTime::now() + Duration::from_mins(30), "it seems to begin in the future");
    assert!(now.elapsed < WIDE, "{:?}", now.elapsed);
    jobs.stop(job.id, Stop::Signal(9)).await.expect("its keeper is told");
    let ended = gone(&jobs, job.id).await;
    assert!(ended.elapsed < WIDE, "{:?}", ended.elapsed);
    set_clock_back(&place.path().join("jobs/1"));
    assert_eq!(jobs.sweep().expect("it is swept"), [0; 0], "what ends in the future is young");
}

#[tokio::test]
async fn a_thousand_at_once_are_all_accounted_for() {
    let mut place = Place::new(PUPPET);
    let jobs = limited(&mut place, JobLimits { live: 1000, kept: 1000, ..JobLimits::default() });
    // The first one has to outlive the start of the last one.
    place.options.lifetime = Lifetime(20 * WIDE);
    let engine = place.engine();
    let mut ids = Vec::new();
    for number in 0..1000 {
        let script = format!("until [ -e go ]; do read -t 0.5 <> <(:); done; echo {number}; exit $(({number} % 7))");
        ids.push(engine.started_job(request(script)).await.expect("it starts").id);
    }
    let live = jobs.list().expect("a list").iter().filter(|job| job.is_live()).count();
    assert_eq!(live, 1000);
    drop(engine);
    std::fs::write(place.path().join("go"), "").expect("they may go on");
    for (number, id) in ids.iter().enumerate() {
        let job = gone(&jobs, *id).await;
        let code = u8::try_from(number % 7).expect("less than seven");
        assert_eq!(job.state, JobState::Ended(End::Own(Exit::Code(code))));
        assert!(written(&job).starts_with(&format!("{number}\n\n[background process ")), "{}", written(&job));
    }
    place.check_nothing_survives();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_list_start_and_sweep_at_once_never_see_half_a_record() {
    let mut place = Place::new(PUPPET);
    let jobs = limited(&mut place, JobLimits { kept: 3, ..JobLimits::default() });
    let engine = place.engine();
    let lists = |jobs: Arc<JobStore>| {
        std::thread::spawn(move || {
            for _ in 0..300 {
                for job in jobs.list().expect("a list") {
                    assert!(!job.is_lost(), "{job:?}");
                    assert!(job.script.starts_with("echo "), "{job:?}");
                }
                jobs.sweep().expect("it is swept");
            }
        })
    };
    let others = [lists(Arc::clone(&jobs)), lists(Arc::clone(&jobs))];
    for number in 0..60 {
        let job = engine.started_job(request(format!("echo {number}"))).await.expect("it starts");
        match jobs.wait(job.id).await {
            Ok(job) => assert_eq!(job.end(), Some(End::Own(Exit::Code(0)))),
            // Swept before we could look.
            Err(ControlError::Get(GetJobError::Removed { .. })) => {}
            Err(error) => panic!("{error}"),
        }
    }
    for other in others {
        other.join().expect("it saw nothing that is not whole");
    }
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_program_that_is_no_keeper_runs_nothing_and_is_told_what_to_call() {
    let mut place = Place::new(PUPPET);
    place.options.keeper = KeeperProgram::This;
    let engine = place.engine();
    let advice = "call `bashful_engine::keeper_main()` first in its `main`";
    let refused = error_chain(&engine.started_job(request("true")).await.expect_err("no keeper"));
    assert!(refused.contains(advice), "{refused}");
    assert_eq!(store(&place).list().expect("a list"), []);
    let refused = error_chain(&engine.run(request("true")).await.expect_err("no keeper"));
    assert!(refused.contains(advice), "{refused}");
}

#[tokio::test]
async fn a_directory_that_cannot_be_used_is_named() {
    let mut place = Place::new(PUPPET);
    std::fs::write(place.path().join("file"), "").expect("a file");
    place.options.jobs = Some(Arc::new(JobStore::new(place.path().join("file/jobs"), JobLimits::default())));
    let failed = place.engine().started_job(request("true")).await.expect_err("there is no such directory");
    assert!(failed.to_string().contains("file/jobs"), "{failed}");
}

#[tokio::test]
async fn nothing_is_lost_when_a_command_ends_just_as_it_is_sent_to_the_background() {
    let place = Place::new(PUPPET);
    let (engine, jobs) = (place.engine(), store(&place));
    for turn in 0..60_u32 {
        let delay = f64::from(turn % 20) * 0.001;
        let asked = request(format!("echo before; sleep 0.0{:02.0}; echo after; exit 3", 10.0 + delay * 1000.0));
        let (text, end) = match engine.call(asked, patient(Duration::from_millis(20))).await.expect("it starts") {
            Reply::Finished(finished) => (bashful_testkit::output(&finished.outcome), finished.outcome.end),
            Reply::Background(sent) => {
                let job = gone(&jobs, sent.job.id).await;
                let text = written(&job).replace("\n[background process failed: exit status: 3]\n", "");
                (text, job.end().expect("it has ended"))
            }
            other => panic!("{other:?}"),
        };
        assert_eq!((text.as_str(), end), ("before\nafter\n", End::Own(Exit::Code(3))), "turn {turn}");
    }
}

#[tokio::test]
async fn nothing_is_lost_when_what_was_left_behind_ends_just_then() {
    let place = Place::new(PUPPET);
    let (engine, jobs) = (place.engine(), store(&place));
    for turn in 0..60 {
        let outcome = run(&engine, format!("(sleep 0.0{}; echo late) & echo hi", 45 + turn % 20)).await;
        let text = match outcome.leftover.as_ref().and_then(|left| left.job) {
            None => bashful_testkit::output(&outcome),
            Some(id) => written(&gone(&jobs, id).await).replace("\n[background processes ended]\n", ""),
        };
        assert_eq!(text, "hi\nlate\n", "turn {turn}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_job_that_has_stopped_its_keeper_can_still_be_stopped() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let job =
        start(&place, "until [ -e go ]; do sleep 0.01; done; $PUPPET signal STOP $PPID; echo stopped; sleep 1000")
            .await;
    std::fs::write(place.path().join("go"), "").expect("it may go on");
    assert!(eventually(|| written(&job).contains("stopped")));
    jobs.stop(job.id, Stop::Ask).await.expect("its keeper is woken and told");
    let job = gone(&jobs, job.id).await;
    assert!(matches!(job.end(), Some(End::Stopped { why: StopReason::Cancelled, .. })), "{job:?}");
    place.check_nothing_survives();
}

#[tokio::test]
async fn more_waiters_than_a_keeper_can_hear_do_not_keep_others_from_stopping_the_job() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let job = start(&place, "sleep 1000").await;
    let waits: Vec<_> = (0..300)
        .map(|_| {
            let jobs = Arc::clone(&jobs);
            tokio::spawn(async move { over(&jobs, job.id).await })
        })
        .collect();
    tokio::task::yield_now().await;
    jobs.stop(job.id, Stop::Ask).await.expect("its keeper is told");
    for wait in waits {
        let job = wait.await.expect("it does not panic");
        assert!(matches!(job.end(), Some(End::Stopped { .. })), "{job:?}");
    }
}

#[tokio::test]
async fn a_keeper_whose_directory_was_removed_does_not_touch_the_next_job_of_that_number() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let old = start(&place, "until [ -e go ]; do sleep 0.01; done; exit 7").await;
    std::fs::remove_dir_all(jobs.directory()).expect("it is removed");
    let new = start(&place, "until [ -e stop ]; do sleep 0.01; done; exit 8").await;
    assert_eq!(old.id, new.id);
    std::fs::write(place.path().join("go"), "").expect("the old one may end");
    let old_is_gone = || rustix::process::test_kill_process(pid(&old)).is_err();
    assert!(eventually(old_is_gone));
    assert_eq!(jobs.get(new.id).expect("it is there").state, JobState::Running);
    std::fs::write(place.path().join("stop"), "").expect("the new one may end");
    assert_eq!(over(&jobs, new.id).await.end(), Some(End::Own(Exit::Code(8))));
}

#[tokio::test]
async fn a_record_that_makes_no_sense_can_be_removed() {
    let place = Place::new(PUPPET);
    let jobs = store(&place);
    let job = start(&place, "true").await;
    gone(&jobs, job.id).await;
    let path = jobs.directory().join("1");
    std::fs::write(path.join("job.json"), "{\"half").expect("it is garbled");
    std::fs::write(path.join("status.json"), "{\"half").expect("it is garbled");
    jobs.get(job.id).expect_err("nobody can say what it was");
    jobs.remove(job.id).expect("it can be removed");
    std::fs::write(jobs.directory().join("next"), "999999999999\n").expect("a garbled counter");
    assert_eq!(start(&place, "true").await.id, 1, "a counter that makes no sense is not counted on");
    gone(&jobs, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_leaves_alone_what_is_made_meanwhile() {
    let place = Place::new(PUPPET);
    let (engine, jobs) = (place.engine(), store(&place));
    let sweeping = Arc::clone(&jobs);
    let sweeps = std::thread::spawn(move || {
        for _ in 0..200 {
            assert_eq!(sweeping.sweep().expect("it is swept"), [0_u64; 0]);
        }
    });
    for _ in 0..40 {
        let job = engine.started_job(request("true")).await.expect("it starts");
        gone(&jobs, job.id).await;
    }
    sweeps.join().expect("it removes nothing");
    assert_eq!(jobs.list().expect("a list").len(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_waiter_hears_of_a_shell_that_leaves_something() {
    let place = Place::new(PUPPET);
    let (engine, jobs) = (place.engine(), place.options.jobs.clone().expect("a store"));
    for _ in 0..40 {
        let job = engine.started_job(request("\"$PUPPET\" hold & exit 4")).await.expect("it starts");
        // One of them comes just when the shell ends: before the record has that, and after everybody was told.
        let waits: Vec<_> = (0..8)
            .map(|_| {
                let (jobs, id) = (Arc::clone(&jobs), job.id);
                tokio::spawn(async move { tokio::time::timeout(WIDE, jobs.wait(id)).await })
            })
            .collect();
        for wait in waits {
            let job = wait.await.expect("no panic").expect("it comes back").expect("a record");
            assert!(matches!(job.state, JobState::Left { .. }), "{:?}", job.state);
        }
        jobs.stop(job.id, Stop::Ask).await.expect("it is told");
        gone(&jobs, job.id).await;
    }
    place.check_nothing_survives();
}
