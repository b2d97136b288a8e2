package render

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/markdown"
)

func TestGap(t *testing.T) {
	block := func(k conversation.Kind) *conversation.Block { return &conversation.Block{Kind: k} }
	short := &conversation.Block{Kind: conversation.Called, Call: &conversation.Call{Tool: "Read", Output: "x"}}
	long := &conversation.Block{Kind: conversation.Called, Call: &conversation.Call{Tool: "Bash", Output: "x"}}
	for name, tt := range map[string]struct {
		before, b *conversation.Block
		want      bool
	}{
		"the first":                 {nil, block(conversation.User), false},
		"an answer":                 {block(conversation.User), block(conversation.Answer), true},
		"short calls":               {short, short, false},
		"a call with output":        {short, long, true},
		"after a call with output":  {long, short, true},
		"a note after a short call": {short, block(conversation.Note), false},
		"a note after output":       {long, block(conversation.Note), true},
		"notes":                     {block(conversation.Note), block(conversation.Note), false},
		"the call that was allowed": {block(conversation.Answered), long, false},
		"the end":                   {block(conversation.Answer), block(conversation.Ended), true},
	} {
		if got := (&Renderer{}).Gap(tt.before, tt.b); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTitle(t *testing.T) {
	r := &Renderer{Cwd: "/w"}
	for input, want := range map[string]string{
		`{"command":"go  test\n./..."}`:            "T  go test ./...",
		`{"file_path":"/w/a.go","old_string":"x"}`: "T  a.go",
		`{"owner":"ann","n":1,"list":[1,2]}`:       "T  list: [1,2], n: 1, owner: ann",
		`{"title":"\u001b[2J\u202e"}`:              `T  title: \x1b[2J\u202e`,
		`{}`:                                       "T",
		`not JSON`:                                 "T  not JSON",
		`{"command":"` + strings.Repeat("é", 1e4) + `"}`: "T  " + strings.Repeat("é", maxTitle/2),
	} {
		if got := r.Headline(&conversation.Call{Tool: "T", Input: json.RawMessage(input)}); got != want {
			t.Errorf("%.40s: %q, want %q", input, got, want)
		}
	}
}

// Between two frames nothing changes, so that nothing is written; and only the first line moves within a second.
func TestLiveIsCalm(t *testing.T) {
	r := &Renderer{Style: markdown.ANSI16}
	for name, s := range states() {
		var frames, rests []string
		for at := time.Duration(0); at < 10*time.Second; at += 10 * time.Millisecond {
			lines := append(r.Live(s, 80, 30, start.Add(at)), "", "")
			if f := strings.Join(lines, "\n"); len(frames) == 0 || frames[len(frames)-1] != f {
				frames = append(frames, f)
			}
			first := 1
			if s.Lost != nil {
				first = 2
			}
			if f := strings.Join(lines[first:], "\n"); len(rests) == 0 || rests[len(rests)-1] != f {
				rests = append(rests, f)
			}
		}
		if n := int(10 * time.Second / Frame); len(frames) > n || len(rests) > 10 {
			t.Errorf("%s: %d frames, at most %d are allowed; the lines below the first changed %d times", name, len(frames), n, len(rests))
		}
	}
}

func TestRewindFiles(t *testing.T) {
	var plan api.RewindResult
	if err := json.Unmarshal([]byte(`{"files":[{"path":"/w/a.go","action":"restore","size":2048},{"path":"/b\u001b","action":"conflict","why":"it was changed by another program"}]}`), &plan); err != nil {
		t.Fatal(err)
	}
	got := strings.Join((&Renderer{Cwd: "/w"}).RewindFiles(&plan, 40), "\n")
	want := "restore   a.go  2.0 KiB\nconflict  /b\\x1b\n          it was changed by another\n          program"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A frame is drawn five times a second and at each key.
func BenchmarkLive(b *testing.B) {
	s := states()["all"]
	s.Calls[1].Output = strings.Repeat("a line of output\n", 4000)
	r := &Renderer{Style: markdown.ANSI16}
	for b.Loop() {
		r.Live(s, 80, 30, start)
	}
}

func BenchmarkBlocks(b *testing.B) {
	r, blocks := &Renderer{Style: markdown.ANSI16}, page()
	for b.Loop() {
		for _, x := range blocks {
			r.Block(x, 80)
		}
	}
}

func TestASCIILocale(t *testing.T) {
	for locale, want := range map[string]bool{"": false, "C.UTF-8": false, "de_DE.utf8": false, "C": true, "de_DE.ISO-8859-1": true} {
		if got := ASCIILocale(func(name string) string { return map[string]string{"LANG": locale}[name] }); got != want {
			t.Errorf("%q: %v", locale, got)
		}
	}
}

// Who did something is not said if it was the user of this terminal.
func TestMe(t *testing.T) {
	r := &Renderer{Me: "ann (cli)"}
	q := &approval.Request{Tool: "Bash"}
	for by, shown := range map[string]bool{"ann": false, "bob": true} {
		lines := r.Block(&conversation.Block{Kind: conversation.Answered, Request: q, Reply: &approval.Answer{Decision: approval.Allow, Actor: by, Via: "cli"}}, 80)
		lines = append(lines, r.Block(&conversation.Block{Kind: conversation.User, Text: "hello", By: by + " (cli)"}, 80)...)
		lines = append(lines, r.Live(&conversation.State{Queue: []conversation.Queued{{Text: "later", By: by + " (cli)"}}}, 80, 9, start)...)
		if got := strings.Count(strings.Join(lines, "\n"), by); shown && got < 2 || !shown && got > 0 {
			t.Errorf("%s is there %d times:\n%s", by, got, strings.Join(lines, "\n"))
		}
	}
}
