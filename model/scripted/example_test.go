package scripted_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/transcript"
)

const greeting = `
chunk: 6
steps:
  - expect: {user: hello}
    text: Hello to you, too.
`

func ask(m model.Model, text string) {
	wire, err := m.Encode(transcript.UserText(text).MustEncode())
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range m.Stream(context.Background(), &model.Request{Messages: []model.EncodedItem{wire}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := ev.(type) {
		case model.TextDelta:
			fmt.Printf("%q ", ev.Text)
		case model.Answer:
			fmt.Println(ev.Item.Finish)
		}
	}
}

func ExampleNew_unknownKey() {
	_, err := scripted.New([]byte("steps:\n  - text: Hello\n    shout: true\n"), nil)
	fmt.Println(err)
	// Output: scripted: 3:5: unknown field "shout"
}

func ExampleNew() {
	m, err := scripted.New([]byte(greeting), nil)
	if err != nil {
		log.Fatal(err)
	}
	ask(m, "hello")
	ask(m, "good night")
	// Output:
	// "Hello " "to you" ", too." stop
	// scripted: invalid_request (HTTP 400): step #1 expects user containing "hello"; received: user "good night"
}

// A play can have the model use tools.
func ExampleNew_toolUses() {
	m, err := scripted.New([]byte(`steps: [{tool_uses: [{id: a, tool: Bash, input: {command: ls}}]}]`), nil)
	if err != nil {
		log.Fatal(err)
	}
	ask(m, "what is here?")
	// Output: tool_use
}

func ExampleLoad() {
	dir, err := os.MkdirTemp("", "play")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "greeting.yaml")
	if err := os.WriteFile(path, []byte(greeting), 0o600); err != nil {
		log.Fatal(err)
	}
	m, err := scripted.Load(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	ask(m, "hello")
	// Output: "Hello " "to you" ", too." stop
}

func ExampleLoad_missing() {
	_, err := scripted.Load("no-such-play.yaml", nil)
	fmt.Println(err)
	// Output: scripted: open no-such-play.yaml: no such file or directory
}
