package hook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/hook"
)

func TestSpellings(t *testing.T) {
	seeds := 0
	for _, event := range hook.Events() {
		name := event.Spelled("seed")
		if name != string(event) {
			seeds++
		}
		for _, name := range []string{name, event.Spelled("claude")} {
			if e, err := hook.Event(name).Canonical(); e != event || err != nil {
				t.Errorf("%s: %s, %v", name, e, err)
			}
		}
	}
	if seeds != 23 {
		t.Errorf("the Open Agent SDK has 23 events, not %d", seeds)
	}
	for name, hint := range map[string]string{
		"":               "the events are PreToolUse, ",
		"notARealEvent":  "the events are PreToolUse, ",
		"PreToolUsed":    "did you mean PreToolUse?",
		"preToolUsed":    "did you mean preToolUse?",
		"pre_tool_use":   "did you mean preToolUse?",
		"Setups":         "did you mean Setup?",
		"DirectoryAdded": "remove the hook",
	} {
		_, err := hook.Event(name).Canonical()
		e, ok := errors.AsType[*hook.Error](err)
		if !ok || !errors.Is(err, &hook.Error{}) || !strings.HasPrefix(e.Hint(), hint) {
			t.Errorf("%q: %v, %+v; want the hint %q", name, err, e, hint)
		}
	}
}

func TestTimeLimit(t *testing.T) {
	for _, event := range hook.Events() {
		if d := (hook.Definition{Event: event, Command: "true"}); d.TimeLimit() <= 0 {
			t.Errorf("%s: %v", event, d.TimeLimit())
		}
	}
}

func TestErrorText(t *testing.T) {
	e := &hook.Error{Field: "PreToolUse[0]", What: "it is wrong", Advice: "make it right"}
	if e.Error() != "PreToolUse[0]: it is wrong" || e.Hint() != "make it right" {
		t.Errorf("%v; %s", e, e.Hint())
	}
	if e.Field = ""; e.Error() != "it is wrong" {
		t.Errorf("%v", e)
	}
}
