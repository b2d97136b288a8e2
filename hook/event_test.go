package hook_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/hook"
)

func TestParseEvent(t *testing.T) {
	seeds := 0
	for _, info := range hook.Events() {
		if e, d, err := hook.ParseEvent(string(info.Event)); e != info.Event || d != hook.Claude || err != nil {
			t.Errorf("%s: %s, %s, %v", info.Event, e, d, err)
		}
		if info.Seed == "" {
			continue
		}
		seeds++
		if e, d, err := hook.ParseEvent(info.Seed); e != info.Event || d != hook.Seed || err != nil {
			t.Errorf("%s: %s, %s, %v", info.Seed, e, d, err)
		}
	}
	if seeds != 23 {
		t.Errorf("seed 000 has 23 events, not %d", seeds)
	}
	for name, hint := range map[string]string{
		"":               "known are PreToolUse, ",
		"notARealEvent":  "known are PreToolUse, ",
		"PreToolUsed":    "did you mean PreToolUse?",
		"preToolUsed":    "did you mean preToolUse?",
		"pre_tool_use":   "did you mean preToolUse?",
		"Setups":         "did you mean Setup?",
		"DirectoryAdded": "take the hook out",
	} {
		_, _, err := hook.ParseEvent(name)
		e, ok := errors.AsType[*hook.Error](err)
		if !ok || !errors.Is(err, hook.ErrInvalid) || !strings.HasPrefix(e.Hint(), hint) {
			t.Errorf("%q: %v, %+v; want the hint %q", name, err, e, hint)
		}
	}
}

func TestInfo(t *testing.T) {
	if _, ok := hook.Event("preToolUse").Info(); ok {
		t.Error("an event is known by its name in seed 000")
	}
	for _, info := range hook.Events() {
		got, ok := info.Event.Info()
		if !ok || got.Timeout <= 0 {
			t.Errorf("%s: %+v", info.Event, got)
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
