package event_test

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/event"
)

func ExampleMarshal() {
	b, err := event.Marshal(event.TextDelta{Text: "Hello"})
	fmt.Println(string(b), err)
	e, err := event.Unmarshal(b)
	fmt.Printf("%T %v\n", e, err)
	fmt.Println(e.Type(), event.Provisional(e))
	// Output:
	// {"type":"text_delta","text":"Hello"} <nil>
	// model.TextDelta <nil>
	// text_delta true
}

func ExampleError() {
	b, err := event.Marshal(event.TurnFinished{
		Turn: "turn-1", Reason: event.ReasonFailed,
		Err: &event.Error{Message: "the provider refused the key", Advice: "set ANTHROPIC_API_KEY", Code: "failed"},
	})
	fmt.Println(string(b), err)
	// Output:
	// {"type":"turn_finished","error":{"message":"the provider refused the key","hint":"set ANTHROPIC_API_KEY","code":"failed"},"turn":"turn-1","reason":"failed"} <nil>
}
