package wire_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

func ExampleDecode() {
	req, bad := wire.Decode([]byte(`{"type":"start_run","runId":"run-1","input":"go","requestId":"r1"}`))
	if start, ok := req.(*wire.StartRun); ok && bad == nil {
		fmt.Println(start.RunID, start.Input, start.RequestID)
	}
	_, bad = wire.Decode([]byte(`{"type":"update_policy","runId":"run-1","mode":"exec","alow":["x"],"requestId":"r2"}`))
	fmt.Println(bad.Code, bad.RequestID)
	fmt.Println(bad.Message)
	// Output:
	// run-1 go r1
	// VALIDATION_ERROR r2
	// Invalid message: mode: must be one of read, write, not "exec"; "alow": unknown field, did you mean "allow"?
}

func ExampleEncode() {
	pong := &wire.Pong{}
	pong.TS = wire.Time{Time: time.Date(2025, 1, 15, 10, 30, 1, 0, time.UTC)}
	pong.RequestID = "r1"
	fmt.Printf("%s\n", wire.Encode(pong))
	// Output: {"type":"pong","ts":"2025-01-15T10:30:01.000Z","requestId":"r1"}
}

func ExampleProject() {
	payload, _ := json.Marshal(wire.RunEvent{Event: wire.RunSteered, Text: "shorter", By: "ann", RequestID: "r1"})
	r := session.Record{Seq: 9, Kind: record.KindRunEvent, Time: time.Date(2025, 1, 15, 10, 30, 1, 0, time.UTC), Payload: payload}
	for _, frame := range wire.Project("run-1", r.Seq, wire.Source{Record: r}) {
		fmt.Printf("%s\n", frame)
	}
	// Output: {"type":"steer_queued","ts":"2025-01-15T10:30:01.000Z","requestId":"r1","runId":"run-1","seq":9,"text":"shorter","by":"ann"}
}
