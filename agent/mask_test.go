package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/session"
)

func masker(t testing.TB) *secret.Masker {
	t.Helper()
	m, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

const (
	masked = `{"command":"git push https://ghp_` + `Zq8Lx2Vn4Rb7Tc9Wk3Md6Yp1Hs5Jf0Ga8Ue2@host"}`
	hiding = `{"command":"git push postgres://me:` + `Kx9;reboot&q2@host"}`
)

// The log has the input with masked secrets, so after a restart the original call cannot run.
func TestMaskedCallsNotRunAfterRestart(t *testing.T) {
	first := step{}
	first.uses = append(first.uses, use("c1", "Bash", push), use("c2", "Bash", masked))
	for _, c := range []struct {
		name  string
		first step
		ran   int
	}{
		{"approval requested", step{uses: first.uses[1:]}, 0},
		{"approval not requested yet", first, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := leave(t, agent.Options{Tools: registry(t, command("Bash")), Mask: masker(t)}, c.first)
			l.answer(t, approval.Answer{Decision: approval.Allow, Actor: "bob"})
			bash := command("Bash")
			person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}
			a := l.resume(t, play(t, step{text: "done"}), agent.Options{Tools: registry(t, bash), Mask: masker(t), Permissions: agent.Permissions{Ask: person.ask}})
			continueRun(t, a)
			if len(bash.inputs) != c.ran || len(person.asked) > 0 {
				t.Errorf("ran %q, asked %d", bash.inputs, len(person.asked))
			}
			if got := results(t, a)["c2"].Text(); !strings.Contains(got, "a secret in the input was masked") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestRemoteAllowCoversShown(t *testing.T) {
	for _, c := range []struct {
		name, input, reported string
		ran                   int
	}{
		{"a secret", masked, "ran", 1},
		{"secret with shell syntax", hiding, "approve it where the agent runs", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, bash := sessions(t), command("Bash")
			a := newAgent(t, play(t, step{uses: append(step{}.uses, use("c1", "Bash", c.input))}, step{text: "ok"}), asking(agent.Options{
				Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, bash), Mask: masker(t),
				Permissions: agent.Permissions{Ask: func(ctx context.Context, q approval.Request) (approval.Answer, error) {
					if _, err := answerElsewhere(t, s, "one", approval.Answer{Decision: approval.AllowSession, Actor: "bob"}); err != nil {
						t.Error(err)
					}
					<-ctx.Done()
					return approval.Answer{}, context.Cause(ctx)
				}},
			}))
			prompt(t, a, "go")
			if got := results(t, a)["c1"].Text(); len(bash.inputs) != c.ran || !strings.Contains(got, c.reported) {
				t.Errorf("ran %d, got %q", len(bash.inputs), got)
			}
			if n := len(a.Guards().Grants()); n != c.ran {
				t.Errorf("%d grants", n)
			}
			here := command("Bash") // here the input is shown unmasked
			person := &fixedAnswer{answer: approval.Answer{Decision: approval.Allow}}
			b := newAgent(t, play(t, step{uses: append(step{}.uses, use("c1", "Bash", c.input))}, step{text: "ok"}), asking(agent.Options{
				Sessions: sessions(t), Tools: registry(t, here), Mask: masker(t), Permissions: agent.Permissions{Ask: person.ask},
			}))
			prompt(t, b, "go")
			if len(here.inputs) != 1 || here.inputs[0] != c.input {
				t.Errorf("ran %q here", here.inputs)
			}
		})
	}
}
