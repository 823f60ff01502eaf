//! Real agents, against a scripted model that writes down all that it is sent. `cargo xtask agents` does the same for many more.

use bashful_testkit::agents::{Agent, Case, Rig};

/// Runs one case for one agent.
#[track_caller]
fn check(agent: &str, case: &str) {
    let rig = Rig::new(crate::BASHFUL);
    let (agent, case) = (Agent::named(agent).expect("an agent"), Case::named(case).expect("a case"));
    if let Err(why) = case.run(&rig, agent) {
        panic!("{} with {}: {why}", case.name, agent.name);
    }
}

macro_rules! cases {
    ($($agent:ident)*) => { $(
        mod $agent {
            fn check(case: &str) {
                super::check(stringify!($agent), case);
            }

            #[test]
            fn the_model_sees_the_output_and_none_of_the_facts() {
                check("output");
            }

            #[test]
            fn a_long_output_is_cut_by_nobody_else() {
                check("long output");
            }

            #[test]
            fn a_long_output_of_a_failure_is_cut_by_nobody_else() {
                check("long failure");
            }

            #[test]
            fn a_job_is_named_and_waited_for() {
                check("background");
            }

            #[test]
            fn an_approved_server_needs_no_permission() {
                check("approve");
            }

            #[test]
            fn the_only_shell_is_this_one() {
                check("replace");
            }

            #[test]
            fn an_interrupt_ends_the_tree() {
                check("interrupt");
            }

            #[test]
            fn a_killed_agent_takes_the_tree_with_it() {
                check("kill");
            }
        }
    )* };
}

cases! { codex opencode }

#[test]
fn the_hook_stops_a_push_by_force_in_codex() {
    check("codex", "hook");
}
