package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// beginIn starts an agent of session "one" in a mode that was requested or is the default.
func beginIn(t *testing.T, s *session.Sessions, m policy.Mode, usual bool, steps ...step) *agent.Agent {
	t.Helper()
	a, err := agent.New(play(t, steps...), &agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one", Takeover: true},
		Permissions: agent.Permissions{Config: policy.Config{Mode: m}, DefaultMode: usual}, Tools: registry(t, command("Bash")),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// modeOf returns the mode of the next process.
func modeOf(t *testing.T, disk *memory.Store, m policy.Mode, usual bool) policy.Mode {
	t.Helper()
	a := beginIn(t, session.New(disk, nil), m, usual)
	if _, err := a.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	defer a.Close()
	return a.Mode()
}

// The mode of a run survives its process, however the process ended. Plan mode survives a kill but not
// the end of a turn. bypassPermissions ends with its process.
func TestStartModeIsRunMode(t *testing.T) {
	for _, m := range policy.Modes() {
		for name, killed := range map[string]bool{"closed": false, "killed": true} {
			t.Run(string(m)+" "+name, func(t *testing.T) {
				want := m
				if m == policy.ModeBypass || m == policy.ModePlan && !killed {
					want = policy.ModeDefault
				}
				disk, got := memory.New(), policy.Mode("")
				readMode := func() { got = modeOf(t, disk, "", false) }
				last := step{text: "so"}
				if killed {
					last.during = func(context.Context) { readMode() } // the first process does nothing more
				}
				s := session.New(disk, nil)
				a := beginIn(t, s, m, false, last)
				_, err := a.Prompt(t.Context(), "go")
				if cerr := a.Close(); !killed && (err != nil || cerr != nil) {
					t.Fatal(err, cerr)
				}
				if !killed {
					readMode()
				}
				if got != want {
					t.Errorf("the session resumes in mode %s, not %s", got, want)
				}
				records := 1
				if m == policy.ModeDefault || m == policy.ModeBypass {
					records = 0 // a run in default mode needs no record
				}
				if n := len(payloads(t, s, "one", record.KindPolicyChanged)); n != records {
					t.Errorf("%d records of the mode", n)
				}
			})
		}
	}
}

// A mode that is requested when a session is resumed is recorded, and the next process restores it. A
// default mode that was not requested is not recorded, and applies only if it is stricter.
func TestRequestedModeChangesRun(t *testing.T) {
	disk := memory.New()
	s := session.New(disk, nil)
	for i, c := range []struct {
		mode  policy.Mode
		usual bool
		want  policy.Mode
		on    int // records
	}{
		{policy.ModeAcceptEdits, true, policy.ModeAcceptEdits, 0},
		{policy.ModeRestricted, false, policy.ModeRestricted, 1},
		{"", false, policy.ModeRestricted, 1},
		{policy.ModeRestricted, false, policy.ModeRestricted, 1},
		{policy.ModeAcceptEdits, true, policy.ModeRestricted, 1},
		{policy.ModeAuto, false, policy.ModeAuto, 2},
		{"", false, policy.ModeAuto, 2},
		{policy.ModeDontAsk, true, policy.ModeDontAsk, 2},
		{policy.ModeBypass, false, policy.ModeBypass, 3},
		{"", false, policy.ModeDefault, 3},
		{policy.ModeDefault, false, policy.ModeDefault, 4},
	} {
		if got := modeOf(t, disk, c.mode, c.usual); got != c.want {
			t.Errorf("%d: mode %s, want %s", i, got, c.want)
		}
		list := payloads(t, s, "one", record.KindPolicyChanged)
		if len(list) != c.on {
			t.Errorf("%d: %d records, want %d: %s", i, len(list), c.on, list)
		}
		if c.on > 0 && !strings.Contains(string(list[0]), `"by":"start"`) {
			t.Errorf("%d: %s", i, list[0])
		}
	}
}

// A fork does not inherit the mode of its parent, and reports that, unless grants are copied.
func TestForkDoesNotInheritMode(t *testing.T) {
	for name, with := range map[string]bool{"without": false, "with": true} {
		t.Run(name, func(t *testing.T) {
			disk := memory.New()
			a := beginIn(t, session.New(disk, nil), policy.ModeRestricted, false, step{text: "so"})
			prompt(t, a, "go")
			a.Close()
			s := session.New(disk, nil)
			b, err := agent.New(play(t), &agent.Options{Sessions: s, Session: session.RestoreOptions{SessionID: "one", Fork: true, ForkGrants: with}})
			if err != nil {
				t.Fatal(err)
			}
			found, err := b.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			said := slices.ContainsFunc(found.Notices, func(n string) bool {
				return strings.Contains(n, "without the mode restricted of session one; hint: --with-grants")
			})
			if (b.Mode() == policy.ModeRestricted) != with || said == with {
				t.Errorf("mode %s, notices %q", b.Mode(), found.Notices)
			}
			b.Close()
		})
	}
}
