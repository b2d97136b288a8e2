package wire

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
)

func TestProjectDelta(t *testing.T) {
	const begin = `{"type":"agent_streaming",` + head + `"runId":"run-1","agentName":"agent","event":`
	daemon := schemaOf(t, "daemon")
	for _, tt := range []struct {
		delta agent.Event
		want  string
	}{
		{agent.TextDelta{Text: "Hel"}, `{"type":"text","text":"Hel"}`},
		{agent.ThinkingDelta{Text: "hm"}, `{"type":"thinking","id":"thinking","text":"hm"}`},
		{agent.ToolInputDelta{Use: "c1", Tool: "Bash", JSON: `{"co`}, `{"type":"tool-input","toolCallId":"c1","toolName":"Bash","text":"{\"co"}`},
		{agent.ModelStarted{Model: "m"}, `{"type":"step-start","model":"m"}`},
		{agent.Retrying{Err: errors.New("overloaded"), Attempt: 1, Delay: time.Second}, `{"type":"retry","attempt":1,"delayMs":1000,"message":"overloaded"}`},
		{agent.Retrying{}, `{"type":"retry","attempt":0,"delayMs":0,"message":""}`},
		{agent.Notice{Text: "n"}, `{"type":"notice","text":"n"}`},
		{agent.Notified{Title: "t", Body: "b", Level: "warning"}, `{"type":"notice","text":"b","title":"t","level":"warning"}`},
		{agent.ModelFinished{}, ""},
		{agent.ToolStarted{}, ""},
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
