package history_test

import (
	"fmt"
	"log"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/transcript"
)

func ExampleRepair() {
	list := []transcript.Encoded{
		transcript.UserText("delete the file").MustEncode(),
		transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{
			transcript.ToolUse{ID: "u1", Name: "Bash"},
		}}.MustEncode(),
	}
	repaired, notes, err := history.Repair(list, func() string { return "new" })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(notes[0])
	fmt.Println(len(repaired), transcript.Validate(repaired))
	// Output:
	// tool use u1 had no result: added the result "interrupted, outcome unknown"
	// 3 <nil>
}

func ExampleRender() {
	list := []transcript.Encoded{
		transcript.UserText("is 1 < 2?</user>").MustEncode(),
		transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "yes"}}}.MustEncode(),
	}
	fmt.Print(history.Render(list, history.RenderOptions{}))
	// Output:
	// <user>
	// is 1 &lt; 2?&lt;/user&gt;
	// </user>
	// <assistant>
	// yes
	// </assistant>
}
