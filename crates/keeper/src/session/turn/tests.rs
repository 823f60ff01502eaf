//! Properties of a turn: under any events at all, and in a simulated shell that answers as a real one may.

use proptest::prelude::*;

use super::*;

const GRACE: Duration = Duration::from_secs(2);

fn exit() -> impl Strategy<Value = Exit> {
    prop_oneof![any::<u8>().prop_map(Exit::Code), (1_u8..65).prop_map(Exit::Signal)]
}

fn any_event() -> impl Strategy<Value = TurnEvent> {
    let news = prop_oneof![
        4 => Just(TurnEvent::Tick),
        1 => any::<u8>().prop_map(|code| TurnEvent::Message(ShellMessage::Done(code))),
        1 => (1_u64..4).prop_map(|number| TurnEvent::Message(ShellMessage::Number(number))),
        1 => exit().prop_map(TurnEvent::ShellEnded),
        1 => Just(TurnEvent::StopBegun),
        1 => (0_u64..1000).prop_map(|lasts| TurnEvent::KillPass { lasts: Duration::from_millis(lasts) }),
    ];
    let answers = [
        TurnEvent::ScriptRead,
        TurnEvent::ScriptUnread,
        TurnEvent::ShellBusy,
        TurnEvent::ShellIdle,
        TurnEvent::NumberAsked(1),
        TurnEvent::NumberAsked(2),
        TurnEvent::NumberNotAsked,
        TurnEvent::ProcessesLeft,
        TurnEvent::ProcessesStuck,
        TurnEvent::OnlyShellLeft,
        TurnEvent::NothingLeft,
    ];
    prop_oneof![news, proptest::sample::select(answers.to_vec())]
}

/// Position of a state in the order in which a turn passes through them.
fn rank(turn: Turn) -> u8 {
    match turn {
        Turn::Handed { .. } => 0,
        Turn::Running { .. } => 1,
        Turn::Ending { .. } => 2,
        Turn::Settling { .. } => 3,
        Turn::Interrupted { .. } => 4,
        Turn::Clearing { .. } => 5,
        Turn::Probing { .. } => 6,
        Turn::Answered { .. } => 7,
        Turn::Over => 8,
    }
}

fn round(turn: Turn) -> Option<u32> {
    match turn {
        Turn::Interrupted { round, .. } => Some(round),
        _ => None,
    }
}

fn is_last(effect: TurnEffect) -> bool {
    matches!(effect, TurnEffect::Refuse | TurnEffect::Finish { .. } | TurnEffect::Abandon(_))
}

fn interrupts(effect: TurnEffect) -> bool {
    matches!(effect, TurnEffect::Interrupt | TurnEffect::InterruptAndAskNumber)
}

/// Checks one step against everything that holds for every step. `announced` and `stopped` describe the steps before.
fn check_step(
    (before, event): (Turn, TurnEvent),
    (after, effect): (Turn, Option<TurnEffect>),
    announced: bool,
    stopped: bool,
) -> Result<(), TestCaseError> {
    prop_assert!(rank(after) >= rank(before), "{before:?} went back to {after:?} on {event:?}");
    prop_assert!(round(after) >= round(before) || round(after).is_none(), "{before:?} counted down to {after:?}");
    if before == Turn::Over {
        prop_assert_eq!(effect, None, "nothing is done after the end");
    } else {
        prop_assert_eq!(effect.is_some_and(is_last), after == Turn::Over, "the end is told, and told once");
    }
    if effect.is_some_and(interrupts) {
        prop_assert_eq!(rank(before), 4, "only a shell that has not dropped its script is interrupted");
    }
    if stopped {
        prop_assert!(rank(after) >= 4, "a stop was lost in {after:?}");
    }
    match effect {
        Some(TurnEffect::Announce) => prop_assert!(!announced, "announced twice"),
        Some(TurnEffect::Refuse) => prop_assert!(!announced && !stopped, "refused after it was announced"),
        Some(TurnEffect::Finish { announced: said, .. }) => prop_assert_eq!(said, announced),
        Some(TurnEffect::Abandon(_)) => prop_assert!(announced && stopped),
        Some(TurnEffect::KillShell) => prop_assert!(stopped, "a shell was killed that nobody wanted to stop"),
        _ => {}
    }
    if let Some(TurnEffect::Finish { event: Event::ShellEnded(_), .. }) = effect {
        prop_assert!(!stopped, "processes were left behind by a command that was stopped");
    }
    Ok(())
}

/// A shell, a command and the processes that it starts, in simulated time after the start of the command.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is one habit of a shell, beside the others")]
struct World {
    reads_script: bool,
    must_read: bool,
    /// Time at which the script ends by itself, if ever, and if the shell reports it.
    script_over: Option<u64>,
    says_so: bool,
    /// Time at which the shell dies by itself, if ever.
    shell_dies: Option<u64>,
    /// Interrupts until the shell drops the script; none if it never does.
    heeds_interrupt: Option<u32>,
    says_numbers: bool,
    /// Lifetime of a process that a trap of the shell starts whenever the shell is asked for a number.
    trap_runs: u64,
    /// Lifetime of the command's processes, from its start.
    processes_live: u64,
    heed_term: bool,
    /// Time at which the command is stopped.
    stop: u64,
}

fn world() -> impl Strategy<Value = World> {
    let time = || prop_oneof![0_u64..30, 0_u64..3000];
    let shell = (any::<bool>(), any::<bool>(), proptest::option::of(time()), any::<bool>());
    let faults = (proptest::option::of(time()), proptest::option::of(0_u32..6), any::<bool>(), 0_u64..400);
    let others = (time(), any::<bool>(), 0_u64..4000);
    (shell, faults, others).prop_map(|(shell, faults, others)| World {
        reads_script: shell.0,
        must_read: shell.1,
        script_over: shell.2,
        says_so: shell.3,
        shell_dies: faults.0,
        heeds_interrupt: faults.1,
        says_numbers: faults.2,
        trap_runs: faults.3,
        processes_live: others.0,
        heed_term: others.1,
        stop: others.2,
    })
}

/// A turn in such a world.
struct Simulation {
    world: World,
    start: Instant,
    /// Milliseconds since the start.
    now: u64,
    turn: Turn,
    stopped_at: Option<u64>,
    killed: bool,
    shell_is_dead: bool,
    has_said_done: bool,
    interrupts: u32,
    numbers: u64,
    trap_until: u64,
    effects: Vec<(u64, TurnEffect)>,
}

impl Simulation {
    fn new(world: World) -> Self {
        let start = Instant::now();
        Self {
            turn: Turn::new(start, world.must_read),
            world,
            start,
            now: 0,
            stopped_at: None,
            killed: false,
            shell_is_dead: false,
            has_said_done: false,
            interrupts: 0,
            numbers: 0,
            trap_until: 0,
            effects: Vec::new(),
        }
    }

    fn announced(&self) -> bool {
        self.effects.iter().any(|(_, effect)| *effect == TurnEffect::Announce)
    }

    /// Runs the turn to its end. A stop comes within four seconds, the grace takes two more, and a shell that does not
    /// answer less than one.
    fn run(mut self) -> Result<TurnEffect, TestCaseError> {
        for _ in 0..8000 {
            if self.turn == Turn::Over {
                break;
            }
            self.pass()?;
        }
        prop_assert_eq!(self.turn, Turn::Over, "still in {:?} with {:?}", self.turn, self.world);
        Ok(self.effects.last().expect("a turn ends with an effect").1)
    }

    /// Passes an event on, and answers its effects as this world would.
    fn step(&mut self, event: TurnEvent) -> Result<(), TestCaseError> {
        let mut next = Some(event);
        while let Some(event) = next {
            let now = self.start + Duration::from_millis(self.now);
            let (turn, effect) = self.turn.step(event, now);
            check_step((self.turn, event), (turn, effect), self.announced(), self.stopped_at.is_some())?;
            self.turn = turn;
            self.effects.extend(effect.map(|effect| (self.now, effect)));
            next = match effect {
                Some(effect) => self.answer(effect)?,
                None => None,
            };
        }
        Ok(())
    }

    fn answer(&mut self, effect: TurnEffect) -> Result<Option<TurnEvent>, TestCaseError> {
        Ok(match effect {
            TurnEffect::CheckScript if self.world.reads_script => Some(TurnEvent::ScriptRead),
            TurnEffect::CheckScript => Some(TurnEvent::ScriptUnread),
            TurnEffect::CheckShell if self.is_script_over() => Some(TurnEvent::ShellIdle),
            TurnEffect::CheckShell => Some(TurnEvent::ShellBusy),
            TurnEffect::CheckProcesses if self.processes_live() => Some(TurnEvent::ProcessesLeft),
            TurnEffect::CheckProcesses if self.shell_is_dead => Some(TurnEvent::NothingLeft),
            TurnEffect::CheckProcesses => Some(TurnEvent::OnlyShellLeft),
            TurnEffect::Interrupt => {
                self.interrupts += 1;
                None
            }
            TurnEffect::InterruptAndAskNumber => {
                self.interrupts += 1;
                Some(self.ask_number())
            }
            TurnEffect::AskNumber => Some(self.ask_number()),
            TurnEffect::StopMute => {
                self.stop()?;
                self.kill_shell();
                None
            }
            TurnEffect::KillShell | TurnEffect::Abandon(_) => {
                self.kill_shell();
                None
            }
            TurnEffect::Announce | TurnEffect::Refuse | TurnEffect::Finish { .. } => None,
        })
    }

    fn ask_number(&mut self) -> TurnEvent {
        self.numbers += 1;
        self.trap_until = self.now + self.world.trap_runs;
        if self.shell_is_dead { TurnEvent::NumberNotAsked } else { TurnEvent::NumberAsked(self.numbers) }
    }

    fn kill_shell(&mut self) {
        self.shell_is_dead = true;
        self.killed = true;
    }

    fn stop(&mut self) -> Result<(), TestCaseError> {
        if self.stopped_at.is_none() && self.turn != Turn::Over {
            self.stopped_at = Some(self.now);
            self.interrupts = 1;
            self.step(TurnEvent::StopBegun)?;
        }
        Ok(())
    }

    fn is_script_over(&self) -> bool {
        let is_dropped =
            self.world.heeds_interrupt.is_some_and(|heeded| self.stopped_at.is_some() && self.interrupts > heeded);
        is_dropped || self.world.script_over.is_some_and(|over| over <= self.now)
    }

    fn processes_live(&self) -> bool {
        let is_asked = self.stopped_at.is_some() && self.world.heed_term;
        let own = self.world.processes_live > self.now && !is_asked;
        (own || self.trap_until > self.now) && !self.killed
    }

    /// Lets a millisecond pass, and ticks the turn until its next alarm is in the future.
    fn pass(&mut self) -> Result<(), TestCaseError> {
        self.now += 1;
        if self.world.shell_dies.is_some_and(|dies| dies <= self.now) {
            self.shell_is_dead = true;
        }
        if self.now >= self.world.stop {
            self.stop()?;
        }
        if !self.shell_is_dead && self.is_script_over() {
            if self.world.says_so && !self.has_said_done {
                self.has_said_done = true;
                self.step(TurnEvent::Message(ShellMessage::Done(3)))?;
            }
            if self.world.says_numbers && self.numbers > 0 {
                self.step(TurnEvent::Message(ShellMessage::Number(self.numbers)))?;
            }
        }
        if self.shell_is_dead {
            self.step(TurnEvent::ShellEnded(Exit::Signal(9)))?;
        }
        let grace = u64::try_from(GRACE.as_millis()).expect("small");
        if let Some(stopped_at) = self.stopped_at
            && self.now >= stopped_at + grace
            && (self.now - stopped_at).is_multiple_of(100)
        {
            self.killed = true;
            let lasts = Duration::from_millis(self.now - stopped_at - grace);
            self.step(TurnEvent::KillPass { lasts })?;
        }
        // The keeper's loop ticks a turn after every event, and when it is due.
        let mut ticks = 0;
        self.step(TurnEvent::Tick)?;
        while self.turn.alarm().is_some_and(|alarm| alarm <= self.start + Duration::from_millis(self.now)) {
            ticks += 1;
            prop_assert!(ticks < 3, "{:?} is due again and again", self.turn);
            self.step(TurnEvent::Tick)?;
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn whatever_happens_a_turn_only_moves_forward_and_ends_once(
        must_read in any::<bool>(),
        events in proptest::collection::vec((any_event(), 0_u64..300), 0..80),
    ) {
        let start = Instant::now();
        let (mut now, mut turn) = (start, Turn::new(start, must_read));
        let (mut announced, mut stopped, mut ends) = (false, false, 0);
        for (event, passed) in events {
            now += Duration::from_millis(passed);
            let (next, effect) = turn.step(event, now);
            stopped |= event == TurnEvent::StopBegun;
            check_step((turn, event), (next, effect), announced, stopped)?;
            announced |= effect == Some(TurnEffect::Announce);
            ends += u32::from(effect.is_some_and(is_last));
            turn = next;
        }
        prop_assert!(ends <= 1);
    }

    #[test]
    fn every_turn_ends_once_it_is_stopped_and_no_alarm_is_due_for_ever(world in world()) {
        Simulation::new(world).run()?;
    }

    #[test]
    fn a_script_that_was_not_read_is_reported_as_run_only_if_that_was_announced(world in world()) {
        let last = Simulation::new(World { reads_script: false, must_read: true, ..world }).run()?;
        if let TurnEffect::Finish { announced, .. } = last {
            prop_assert!(announced, "it was neither announced nor refused");
        }
    }
}

/// A world in which everything goes well and nothing ends by itself.
fn quiet() -> World {
    World {
        reads_script: true,
        must_read: true,
        script_over: None,
        says_so: true,
        shell_dies: None,
        heeds_interrupt: Some(0),
        says_numbers: true,
        trap_runs: 0,
        processes_live: 0,
        heed_term: true,
        stop: u64::MAX,
    }
}

/// Effects of this world's first milliseconds, with their times.
#[track_caller]
fn effects(world: World, milliseconds: u64) -> Vec<(u64, TurnEffect)> {
    let mut simulation = Simulation::new(world);
    for _ in 0..milliseconds {
        simulation.pass().expect("every step is right");
    }
    simulation.effects
}

fn times(effects: &[(u64, TurnEffect)], wanted: impl Fn(TurnEffect) -> bool) -> Vec<u64> {
    effects.iter().filter(|(_, effect)| wanted(*effect)).map(|(time, _)| *time).collect()
}

#[test]
fn a_shell_that_says_nothing_is_looked_at_less_and_less_often_up_to_once_a_second() {
    let looks = times(&effects(quiet(), 5000), |effect| effect == TurnEffect::CheckShell);
    assert_eq!(looks, [20, 60, 140, 300, 620, 1260, 2260, 3260, 4260]);
}

#[test]
fn a_word_that_comes_while_the_shell_is_looked_at_ends_the_turn_without_more_news() {
    let start = Instant::now();
    let now = start + FIRST_CHECK_AFTER;
    let (turn, effect) = Turn::new(start, true).step(TurnEvent::ScriptRead, start);
    assert_eq!(effect, Some(TurnEffect::Announce));
    let (turn, effect) = turn.step(TurnEvent::Tick, now);
    assert_eq!(effect, Some(TurnEffect::CheckShell));
    let (turn, effect) = turn.step(TurnEvent::Message(ShellMessage::Done(0)), now);
    assert_eq!(effect, Some(TurnEffect::CheckScript));
    let (turn, effect) = turn.step(TurnEvent::ScriptRead, now);
    assert_eq!(effect, Some(TurnEffect::CheckProcesses));
    let over = turn.step(TurnEvent::OnlyShellLeft, now);
    assert_eq!(over, finish(Event::TreeGone(Exit::Code(0)), true));
}

#[test]
fn a_command_that_is_over_at_once_is_announced_with_its_end() {
    let world = World { script_over: Some(1), ..quiet() };
    let [.., (1, last)] = effects(world, 100)[..] else { panic!("it ends at once") };
    assert_eq!(last, TurnEffect::Finish { event: Event::TreeGone(Exit::Code(3)), announced: false });
}

#[test]
fn processes_get_a_moment_to_end_by_themselves_and_are_left_then() {
    let world = World { script_over: Some(10), processes_live: 1000, ..quiet() };
    let [.., (time, last)] = effects(world, 500)[..] else { panic!("it ends") };
    assert_eq!(last, TurnEffect::Finish { event: Event::ShellEnded(Exit::Code(3)), announced: true });
    assert_eq!(Duration::from_millis(time - 10), SETTLE);
}

#[test]
fn a_shell_that_does_not_come_back_is_interrupted_in_rounds_and_killed_after_the_grace() {
    let world = World { heeds_interrupt: None, stop: 1000, ..quiet() };
    let effects = effects(world, 5000);
    let rounds = times(&effects, interrupts);
    assert_eq!(rounds[..4], [1100, 1200, 1300, 1400]);
    assert_eq!(
        effects.iter().filter(|(_, effect)| interrupts(*effect)).nth(1).map(|(_, effect)| *effect),
        Some(TurnEffect::InterruptAndAskNumber)
    );
    assert_eq!(times(&effects, |effect| effect == TurnEffect::KillShell), [3600], "grace, and time to come back");
    assert_eq!(
        effects.last().map(|(_, effect)| *effect),
        Some(TurnEffect::Finish { event: Event::TreeGone(Exit::Signal(9)), announced: true })
    );
}

#[test]
fn a_shell_that_says_no_number_is_asked_again_and_given_up_after_half_a_second() {
    let world = World { says_numbers: false, stop: 1000, ..quiet() };
    let effects = effects(world, 2000);
    assert_eq!(times(&effects, |effect| effect == TurnEffect::AskNumber), [1000, 1100, 1200, 1300, 1400]);
    assert_eq!(effects.last(), Some(&(1500, TurnEffect::Abandon(Exit::Code(3)))));
}

#[test]
fn a_shell_that_lost_the_line_about_its_script_shows_by_a_number_that_it_is_back() {
    let world = World { says_so: false, stop: 1000, ..quiet() };
    let [.., (time, last)] = effects(world, 2000)[..] else { panic!("it ends") };
    assert_eq!(last, TurnEffect::Finish { event: Event::TreeGone(Exit::Code(INTERRUPTED)), announced: true });
    assert!(time < 1300, "two rounds of interrupts, and not {time} ms");
}

#[test]
fn a_script_that_the_shell_cannot_read_is_refused_at_once_and_late_it_is_stopped() {
    let unread = World { reads_script: false, ..quiet() };
    let soon = effects(World { script_over: Some(5), ..unread.clone() }, 100);
    assert_eq!(soon.last(), Some(&(5, TurnEffect::Refuse)));
    let late = effects(World { script_over: Some(2000), ..unread }, 2100);
    let announced = times(&late, |effect| effect == TurnEffect::Announce);
    assert!(announced[0] >= 1000, "it was announced after {} ms, unread", announced[0]);
    assert_eq!(times(&late, |effect| effect == TurnEffect::StopMute), [2000]);
}

#[test]
fn a_directory_that_cannot_be_entered_is_an_answer_and_no_refusal() {
    let world = World { reads_script: false, must_read: false, script_over: Some(5), ..quiet() };
    let [.., (5, last)] = effects(world, 100)[..] else { panic!("it ends at once") };
    assert_eq!(last, TurnEffect::Finish { event: Event::TreeGone(Exit::Code(3)), announced: false });
}

#[test]
fn only_the_last_number_shows_that_a_shell_is_back() {
    let now = Instant::now();
    let exit = Exit::Code(INTERRUPTED);
    let probing =
        Turn::Probing { exit, number: 2, again_at: now + INTERRUPT_AGAIN, give_up_at: now + COME_BACK_WITHIN };
    assert_eq!(probing.step(TurnEvent::Message(ShellMessage::Number(1)), now), (probing, None));
    let answered = (Turn::Answered { exit, check: ShellCheck::first(now) }, Some(TurnEffect::CheckProcesses));
    assert_eq!(probing.step(TurnEvent::Message(ShellMessage::Number(2)), now), answered);
}

#[test]
fn a_stop_ends_when_processes_cannot_be_killed_or_the_shell_cannot_be_asked() {
    let now = Instant::now();
    let exit = Exit::Code(0);
    let clearing = Turn::Clearing { exit, check: ShellCheck::first(now) };
    assert_eq!(clearing.step(TurnEvent::ProcessesStuck, now), finish(Event::Stuck, true));
    assert_eq!(clearing.step(TurnEvent::NumberNotAsked, now), (Turn::Over, Some(TurnEffect::Abandon(exit))));
}

/// The shell reaps its children itself, so no event tells the keeper that the last of them has ended.
#[test]
fn processes_of_a_stopped_command_are_looked_for_again_and_again() {
    let now = Instant::now();
    let (exit, check) = (Exit::Code(INTERRUPTED), ShellCheck::first(now));
    for stopped in [Turn::Clearing { exit, check }, Turn::Answered { exit, check }] {
        let due = stopped.alarm().expect("it is looked at again");
        assert_eq!(stopped.step(TurnEvent::Tick, due), (stopped, Some(TurnEffect::CheckProcesses)));
        let (left, _) = stopped.step(TurnEvent::ProcessesLeft, due);
        assert!(left.alarm().is_some_and(|next| next > due), "{left:?}");
        assert_eq!(stopped.step(TurnEvent::ProcessesLeft, now), (stopped, None));
    }
}
