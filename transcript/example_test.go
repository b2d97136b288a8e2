package transcript_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/holdfast-dev/holdfast/transcript"
)

func ExampleItem_Encode() {
	e, err := transcript.Item{
		ID: "i1", Role: transcript.RoleAssistant, Finish: transcript.FinishToolUse,
		Parts: []transcript.Part{
			transcript.Text{Text: "I look."},
			transcript.ToolUse{ID: "u1", Name: "Read", Input: json.RawMessage(`{ "file_path": "a.go" }`)},
		},
	}.Encode()

	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(e.JSON))
	fmt.Println(e.UseIDs())
	// Output:
	// {"role":"assistant","id":"i1","finish":"tool_use","parts":[{"type":"text","text":"I look."},{"type":"tool_use","id":"u1","name":"Read","input":{"file_path":"a.go"}}]}
	// [u1]
}

func ExampleEncoded_Parse() {
	var e transcript.Encoded
	if err := e.Parse([]byte(`{"role": "user", "parts": [{"type": "text", "text": "hello", "lang": "en"}]}`)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Role(), e.Text())
	for p := range e.Parts() {
		fmt.Printf("%s %s\n", p.Type(), p.Field("lang"))
	}
	fmt.Println(e.Parse([]byte(`{"role": "user", "role": "system"}`)))
	// Output:
	// user hello
	// text "en"
	// transcript: item "": malformed JSON: key "role" appears twice
}

func ExampleTranscript_Append() {
	var t transcript.Transcript
	err := t.Append(
		transcript.UserText("hello").MustEncode(),
		transcript.ToolResult{UseID: "u1"}.Item().MustEncode(),
	)
	fmt.Println(err)
	// Output: orphaned tool_result u1 (item 1)
}

func ExampleValidate() {
	items := []transcript.Encoded{
		transcript.UserText("list the files").MustEncode(),
		transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{
			transcript.ToolUse{ID: "u1", Name: "Glob"},
		}}.MustEncode(),
	}
	fmt.Println(transcript.Validate(items))
	// Output: tool_use without matching tool_result u1 (item 1)
}

func ExampleTranscript() {
	var t transcript.Transcript
	add := func(it transcript.Item) {
		if err := t.Append(it.MustEncode()); err != nil {
			fmt.Println(err)
		}
	}
	add(transcript.UserText("read it"))
	add(transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: "u1", Name: "Read"}}})
	fmt.Println(t.Open(), t.Dispatchable())
	add(transcript.UserText("and now?"))
	add(transcript.ToolResult{UseID: "u1"}.Item())
	fmt.Println(t.Len(), t.Dispatchable(), t.Check())
	// Output:
	// [u1] false
	// tool_use without matching tool_result u1 (item 2)
	// 3 true <nil>
}
