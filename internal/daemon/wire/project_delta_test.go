package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/event"
)

func TestProjectDelta(t *testing.T) {
	const begin = `{"type":"agent_streaming",` + head + `"runId":"run-1","agentName":"agent","event":`
	daemon := schemaOf(t, "daemon")
	for _, tt := range []struct {
		delta event.Event
		want  string
	}{
		{event.TextDelta{Text: "Hel"}, `{"type":"text","text":"Hel"}`},
		{event.ThinkingDelta{Text: "hm"}, `{"type":"thinking","id":"thinking","text":"hm"}`},
		{event.ToolInputDelta{Use: "c1", Tool: "Bash", JSON: `{"co`}, `{"type":"tool-input","toolCallId":"c1","toolName":"Bash","text":"{\"co"}`},
		{event.ModelStarted{Model: "m"}, `{"type":"step-start","model":"m"}`},
		{event.ModelRetrying{Err: errors.New("overloaded"), Attempt: 1, Delay: time.Second}, `{"type":"retry","attempt":1,"delayMs":1000,"message":"overloaded"}`},
		{event.ModelRetrying{}, `{"type":"retry","attempt":0,"delayMs":0,"message":""}`},
		{event.Notice{Text: "n"}, `{"type":"notice","text":"n"}`},
		{event.Notification{Title: "t", Body: "b", Level: "warning"}, `{"type":"notice","text":"b","title":"t","level":"warning"}`},
		{event.ModelFinished{}, ""},
		{event.ToolStarted{}, ""},
		{nil, ""},
	} {
		got := ProjectDelta("run-1", "", noon, tt.delta)
		switch {
		case tt.want == "":
			if got != nil {
				t.Errorf("%T gives %s", tt.delta, got)
			}
		case string(got) != begin+tt.want+"}":
			t.Errorf("%T gives %s", tt.delta, got)
		default:
			if err := valid(t, daemon, got); err != nil {
				t.Errorf("%s: %v", got, err)
			}
		}
	}
}
