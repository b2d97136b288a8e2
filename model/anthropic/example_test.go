package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/transcript"
)

func ExampleNew() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(firstEvents + restEvents))
	}))
	defer server.Close()

	m, err := anthropic.New("claude-sonnet-4-6", &anthropic.Options{BaseURL: server.URL, APIKey: "sk-made-up"})
	if err != nil {
		fmt.Println(err)
		return
	}
	question, err := m.Encode(transcript.UserText("How far are you?").MustEncode())
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range m.Stream(context.Background(), &model.Request{Messages: []model.EncodedItem{question}}) {
		switch e := event.(type) {
		case nil:
			fmt.Println(err)
		case model.TextDelta:
			fmt.Printf("%q\n", e.Text)
		case model.Answer:
			fmt.Printf("%s: %s, %d tokens\n", m.Info(), e.Item.Finish, e.Item.Usage.Total())
		}
	}
	// Output:
	// "Half"
	// " done"
	// anthropic/claude-sonnet-4-6: stop, 8 tokens
}
