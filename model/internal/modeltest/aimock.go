package modeltest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aimock"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Aimock tests an adapter against a third-party server. open returns the adapter for the server's
// URL. Tests with the project's own servers cover the cases that the third-party server does not
// support.
func Aimock(t *testing.T, signsThinking bool, open func(url string) model.Model) {
	m := open(aimock.Start(t, "../testdata/aimock.json"))

	t.Run("text", func(t *testing.T) {
		deltas, answer, err := Ask(t, m, transcript.UserText("say hello"))
		if err != nil {
			t.Fatal(err)
		}
		const want = "Hello from the mock, in several chunks of text."
		if len(deltas) < 2 || textOf(deltas) != want || answer.Text() != want || answer.Finish != transcript.FinishStop {
			t.Errorf("deltas %q, answer %+v", deltas, answer)
		}
	})
	t.Run("thinking", func(t *testing.T) {
		_, answer, err := Ask(t, m, transcript.UserText("think first"))
		if err != nil {
			t.Fatal(err)
		}
		if th, ok := answer.Parts[0].(transcript.Thinking); !ok || !strings.Contains(th.Text, "think about it") || (th.Signature != "") != signsThinking {
			t.Errorf("parts %+v", answer.Parts)
		}
	})
	t.Run("tool round", func(t *testing.T) {
		question := transcript.UserText("weather")
		_, answer, err := Ask(t, m, question)
		if err != nil {
			t.Fatal(err)
		}
		uses := answer.ToolUses()
		if answer.Finish != transcript.FinishToolUse || len(uses) != 1 || uses[0].Name != "get_weather" {
			t.Fatalf("answer %+v", answer)
		}
		if got := string(uses[0].Input); got != `{"city":"Bern","days":3}` {
			t.Errorf("input %s", got)
		}
		result := transcript.ToolResult{
			UseID:   uses[0].ID,
			Content: []transcript.Part{transcript.Text{Text: "4 degrees"}},
		}.Item()

		_, answer, err = Ask(t, m, question, answer, result)
		if err != nil || answer.Text() != "It is cold in Bern." {
			t.Errorf("%+v, %v", answer, err)
		}
	})

	for _, tt := range []struct {
		say     string
		kind    model.ErrorKind
		status  int
		after   time.Duration
		partial bool
	}{
		{say: "drop me", kind: model.ErrorOverloaded, status: 500},
		{say: "garble me", kind: model.ErrorMalformed},
		{say: "hang up on me", kind: model.ErrorNetwork},
		{say: "break off", kind: model.ErrorNetwork, partial: true},
		{say: "too often", kind: model.ErrorRateLimit, status: 429, after: 7 * time.Second},
	} {
		t.Run(tt.say, func(t *testing.T) {
			_, _, err := Ask(t, m, transcript.UserText(tt.say))
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Kind != tt.kind || e.Status != tt.status || e.RetryAfter != tt.after || (e.Partial != nil) != tt.partial || !e.Retryable() {
				t.Errorf("%+v", e)
			}
		})
	}
}
