package wire

import (
	"cmp"
	"time"

	"github.com/holdfast-dev/holdfast/event"
)

// ProjectDelta returns the frame of a delta, or nil if the protocol has no message for it. The
// frame has no seq because it is provisional.
func ProjectDelta(run, agentName string, at time.Time, d event.Event) []byte {
	e := streamEvent(d)
	if e == nil {
		return nil
	}
	return Encode(&AgentStreaming{
		RunPosition: RunPosition{Envelope: Envelope{TS: Time{at}}, RunID: run},
		AgentName:   cmp.Or(agentName, DefaultAgent), Event: e,
	})
}

func streamEvent(d event.Event) StreamEvent {
	switch d := d.(type) {
	case event.TextDelta:
		return &StreamText{Text: d.Text}
	case event.ThinkingDelta:
		return &StreamThinking{ID: "thinking", Text: d.Text}
	case event.ToolInputDelta:
		return &StreamToolInput{ToolCallID: d.Use, ToolName: d.Tool, Text: d.JSON}
	case event.ModelStarted:
		return &StreamStepStart{Model: d.Model, Attempt: d.Attempt}
	case event.ModelRetrying:
		e := &StreamRetry{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds()}
		if d.Err != nil {
			e.Message = d.Err.Error()
		}
		return e
	case event.Notice:
		return &StreamNotice{Text: d.Text}
	case event.Notification:
		return &StreamNotice{Title: d.Title, Text: d.Body, Level: d.Level}
	}
	return nil
}
