package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// requestView contains the parts of a request to which conditions refer.
type requestView struct {
	system        string
	items         int
	bytes         int      // of all items, of the system prompt and of the tools
	after         string   // mark of the newest answer that has one
	without       int      // number of later answers without a mark
	user          string   // the text of the newest user item after the newest answer
	notifications string   // the notifications after the newest answer, one per line
	results       []result // results after the newest answer
}

type result struct {
	tool, text string
	isError    bool
}

// newRequestView parses a request. It rejects a request that a provider would reject.
func newRequestView(req *model.Request) (*requestView, error) {
	s := &requestView{system: req.System, bytes: len(req.System)}
	for _, t := range req.Tools {
		s.bytes += len(t.Name) + len(t.Description) + len(t.Input)
	}
	items := make([]transcript.Encoded, 0, len(req.Messages))
	newest := -1 // the newest answer
	for i, w := range req.Messages {
		if w.Role == "" {
			continue
		}
		var e transcript.Encoded
		if err := e.IndexTrusted(w.JSON); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		s.bytes += len(w.JSON)
		if e.Role() == transcript.RoleAssistant {
			newest = len(items)
			if mark := stepOf(w.JSON); mark != "" {
				s.after, s.without = mark, 0
			} else {
				s.without++
			}
		}
		items = append(items, e)
	}
	s.items = len(items)
	if err := transcript.Validate(items); err != nil {
		return nil, err
	}
	switch {
	case len(items) == 0:
		return nil, errors.New("the request has no messages")
	case newest == len(items)-1:
		return nil, errors.New("the last message is from the assistant: there is nothing to answer")
	}
	var uses []transcript.ToolUse
	if newest >= 0 {
		uses = items[newest].Uses()
	}
	for _, e := range items[newest+1:] {
		if err := s.take(e, uses); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// take records the content of an item after the newest answer.
func (s *requestView) take(e transcript.Encoded, uses []transcript.ToolUse) error {
	if e.Role() == transcript.RoleUser {
		s.user = e.Text()
	}
	if e.Role() == transcript.RoleNotification {
		s.notifications = strings.TrimPrefix(s.notifications+"\n"+e.Text(), "\n")
	}
	if len(e.ResultIDs()) == 0 {
		return nil
	}
	it, err := e.Decode()
	if err != nil {
		return err
	}
	for _, p := range it.Parts {
		r, ok := p.(transcript.ToolResult)
		if !ok {
			continue
		}
		got := result{text: r.Text(), isError: r.IsError}
		if i := slices.IndexFunc(uses, func(u transcript.ToolUse) bool { return u.ID == r.UseID }); i >= 0 {
			got.tool = uses[i].Name
		}
		s.results = append(s.results, got)
	}
	return nil
}

func (s *requestView) lastResult() string {
	if len(s.results) == 0 {
		return ""
	}
	return s.results[len(s.results)-1].text
}

// String describes the request for the author of a script.
func (s *requestView) String() string {
	var parts []string
	if s.user != "" {
		parts = append(parts, fmt.Sprintf("user %s", quote(s.user)))
	}
	if s.notifications != "" {
		parts = append(parts, fmt.Sprintf("notification %s", quote(s.notifications)))
	}
	for _, r := range s.results {
		verb := "answered"
		if r.isError {
			verb = "failed with"
		}
		parts = append(parts, fmt.Sprintf("%s %s %s", r.tool, verb, quote(r.text)))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing from the user or a tool")
	}
	if s.after != "" {
		parts = append(parts, "after step "+s.after)
	}
	return strings.Join(parts, ", ")
}

func quote(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// stepOf returns the mark that [Model.Stream] stored in an answer.
func stepOf(wire []byte) string {
	var s string
	if json.Unmarshal(jsonscan.Object(wire).Field("step"), &s) != nil {
		return ""
	}
	return s
}
