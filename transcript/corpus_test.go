package transcript_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/transcript"
)

const file = "agentkit-commaagents-parachute.json"

func TestCorpus(t *testing.T) {
	var cases []corpus.Case
	for _, c := range corpus.Load(t, file) {
		if c.Area == "transcript-invariants" || c.Area == "dispatch" || c.ID == "ak-persist-019" {
			cases = append(cases, c)
		}
	}
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){
		"dispatch":              checkDispatch,
		"transcript-invariants": checkInvariant,
		"ak-persist-019":        checkCanonical,
	}, nil)
}

func checkDispatch(t *testing.T, c corpus.Case) {
	var given struct {
		Kind transcript.Role `json:"last_item_kind"`
	}
	var expect struct{ Dispatch bool }
	c.Decode(t, c.Given, &given)
	c.Decode(t, c.Expect, &expect)
	e := transcript.MustEncode(transcript.Item{Role: given.Kind, Parts: []transcript.Part{transcript.Text{Text: "x"}}})
	tr, err := transcript.Of(e)
	if err != nil {
		t.Fatal(err)
	}
	if tr.Dispatchable() != expect.Dispatch {
		t.Errorf("a transcript that ends with %s: dispatchable %v", given.Kind, tr.Dispatchable())
	}
}

func checkInvariant(t *testing.T, c corpus.Case) {
	var given struct{ Transcript []string }
	var expect struct{ Result string }
	c.Decode(t, c.Given, &given)
	c.Decode(t, c.Expect, &expect)
	var items []transcript.Encoded
	for _, s := range given.Transcript {
		f := strings.Fields(s)
		id := f[len(f)-1]
		it := transcript.ResultItem(transcript.ToolResult{UseID: id})
		switch {
		case strings.HasPrefix(s, "assistant call "):
			it = transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: id, Name: "T"}}}
		case !strings.HasPrefix(s, "tool result "):
			t.Fatalf("what is %q?", s)
		}
		items = append(items, transcript.MustEncode(it))
	}
	err := transcript.Validate(items)
	want, invalid := strings.CutPrefix(expect.Result, "invalid: ")
	switch {
	case !invalid && err != nil:
		t.Errorf("refused: %v", err)
	case invalid && (err == nil || !strings.HasPrefix(err.Error(), want)):
		t.Errorf("have %v, want %s", err, want)
	}
	mended, notes, err := transcript.Repair(items, func() string { return "new" })
	if err != nil || transcript.Validate(mended) != nil || (len(notes) > 0) != invalid {
		t.Errorf("repair: %v %v", notes, err)
	}
}

// What was stored and loaded is the same byte for byte.
func checkCanonical(t *testing.T, _ corpus.Case) {
	it := transcript.Item{
		ID: "i", Role: transcript.RoleAssistant, Usage: &transcript.Usage{Input: 1<<53 + 1},
		Parts: []transcript.Part{
			transcript.Text{Text: ""},
			transcript.Text{Text: "Grüße 😀 \u202e \x00"},
			transcript.Media{MIME: "image/png", Data: []byte{0x89, 'P', 'N', 'G', 0, 0xff}},
			transcript.Media{MIME: "audio/wav", URI: "file:///a%20b.wav"},
			transcript.Media{MIME: "video/mp4", Extra: transcript.Extra{"handle": []byte(`{"store":"blobs","id":9007199254740993}`)}},
			transcript.Structured{Value: []byte(`{ "numbers" : [ 1 , 1.0 , -0 , 1e400 , "1e400" , 9007199254740993 ] }`)},
			transcript.ToolUse{ID: "u", Name: "T", Input: []byte("{\n  \"deep\": {\"a\": [[], {}]}\n}")},
		},
	}
	stored, err := transcript.Encode(it)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := transcript.Parse(stored.JSON)
	if err != nil {
		t.Fatal(err)
	}
	back, err := loaded.Decode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := transcript.Encode(back)
	if err != nil || !bytes.Equal(stored.JSON, loaded.JSON) || !bytes.Equal(stored.JSON, again.JSON) {
		t.Errorf("%v\nstored %s\nloaded %s\nagain  %s", err, stored.JSON, loaded.JSON, again.JSON)
	}
	if !strings.Contains(string(stored.JSON), `[1,1.0,-0,1e400,"1e400",9007199254740993]`) {
		t.Errorf("numbers changed: %s", stored.JSON)
	}
}
