package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// noRecord is the record of events that have none.
var noRecord api.Record

// item applies a new item of the transcript. A notification is for the model only.
func (c *Conversation) item(r source, it transcript.Encoded) {
	c.remember(itemAt{it.ID(), r.Seq})
	switch it.Role() {
	case transcript.RoleUser:
		c.userItem(r, it)
	case transcript.RoleAssistant:
		c.assistantItem(r, it)
	case transcript.RoleTool:
		c.results(r, it)
	}
}

// maxItems is how many items a cut of the transcript is searched in.
const maxItems = 4096

func (c *Conversation) remember(at itemAt) {
	if len(c.items) >= maxItems {
		c.items = append(c.items[:0], c.items[maxItems/2:]...)
	}
	c.items = append(c.items, at)
}

// assistantItem reports the blocks of a model's answer.
func (c *Conversation) assistantItem(r source, it transcript.Encoded) {
	blocks := answerBlocks(it)
	streamed := c.complete(r, blocks)
	for i := range blocks {
		blocks[i].Item = it.ID()
		c.block(r, blocks[i])
		c.out[len(c.out)-1].Streamed = streamed
	}
	switch it.Finish() {
	case transcript.FinishCancelled, transcript.FinishError:
		c.note(r, true, "%s", runtext.CutOff)
	case transcript.FinishMaxTokens:
		c.note(r, true, "the answer was cut off here: it reached the maximum length of an answer")
	}
	c.works(r)
	for _, u := range it.Uses() {
		u.Input = slices.Clone(u.Input) // not the whole item
		c.waiting[u.ID] = u
	}
	u := record.UsageOf(it)
	if n := u.Total(); n > 0 {
		c.state.Usage.Context = int(n)
	}
	if m := it.Model(); m != "" {
		c.setModel(m)
	}
	if r.Session == "" { // the log of a run has a record for each call of another agent
		c.used(u, record.Item{Raw: r.Payload}.Cost())
	}
	c.run.turn.Turns++
	c.state.Doing = c.waits()
}

// answerBlocks returns the blocks of an answer in the order of its parts.
func answerBlocks(it transcript.Encoded) (list []Block) {
	for p := range it.Parts() {
		var kind Kind
		switch p.Type() {
		case "text":
			kind = Answer
		case "thinking":
			kind = Thinking
		default:
			continue
		}
		text, _ := jsonscan.Unquote(p.Field("text"))
		if strings.TrimSpace(text) == "" {
			continue
		}
		if n := len(list); n > 0 && list[n-1].Kind == kind {
			list[n-1].Text += "\n" + text
			continue
		}
		list = append(list, Block{Kind: kind, Text: text})
	}
	return list
}

// The marks of queued messages in an item; see package internal/daemon/runs.
const (
	steeringBegin = "<user_steering>\n"
	steeringEnd   = "\n</user_steering>"
)

// userItem reports the messages in an item of the user: an input, queued messages, or both.
func (c *Conversation) userItem(r source, it transcript.Encoded) {
	c.works(r)
	text, images := userText(it)
	older, input, newer := SplitInput(text)
	images = inputimage.Unlabelled(text, images)
	c.steered(r, it, older, nil)
	if newer == "" { // the images of an item come after its texts
		input, images = inputimage.WithLabels(input, images), nil
	}
	if input != "" {
		by := c.run.by
		if strings.HasPrefix(c.run.typed, "/") { // the item has the expansion of the slash command
			input = c.run.typed
		}
		c.run.typed, c.run.by = "", ""
		input, _ = record.CutCommands(input)
		c.block(r, Block{Kind: User, Item: it.ID(), Text: input, By: by})
	}
	c.steered(r, it, newer, images)
}

// SplitInput splits the text of an item of the user into the input, the queued messages that are older
// than it, and those that are newer.
func SplitInput(text string) (older, input, newer string) {
	if body, ok := strings.CutSuffix(text, steeringEnd); ok {
		if i := strings.LastIndex(body, steeringBegin); i == 0 || i > 0 && strings.HasSuffix(body[:i], "\n\n") {
			text, newer = strings.TrimSuffix(body[:i], "\n\n"), body[i+len(steeringBegin):]
		}
	}
	if body, ok := strings.CutPrefix(text, steeringBegin); ok {
		if before, rest, ok := strings.Cut(body, steeringEnd+"\n\n"); ok {
			older, text = before, rest
		}
	}
	return older, text, newer
}

// steered reports the queued messages in an item. The images belong to the last one.
func (c *Conversation) steered(r source, it transcript.Encoded, steering string, images []transcript.Media) {
	for steering != "" {
		m := c.dequeue(steering)
		if m.By == "" {
			m.By = c.run.by
		}
		c.run.by = ""
		steering = strings.TrimPrefix(strings.TrimPrefix(steering, m.raw), "\n\n")
		if steering == "" {
			m.Text = inputimage.WithLabels(m.Text, images)
		}
		c.block(r, Block{Kind: User, Item: it.ID(), Text: m.Text, By: m.By})
	}
}

// dequeue removes the queued message at the beginning of the steering in an item. If it is not
// known, it is all of the text.
func (c *Conversation) dequeue(steering string) Queued {
	i := slices.IndexFunc(c.state.Queue, func(q Queued) bool {
		rest, ok := strings.CutPrefix(steering, q.raw)
		return ok && q.raw != "" && (rest == "" || strings.HasPrefix(rest, "\n\n"))
	})
	if i >= 0 {
		q := c.state.Queue[i]
		c.state.Queue = slices.Delete(c.state.Queue, i, i+1)
		return q
	}
	// The queue has no text of the item any more, so all that was delivered is in it.
	c.state.Queue = slices.DeleteFunc(c.state.Queue, func(q Queued) bool { return q.Delivered })
	text, _ := record.CutCommands(steering)
	return Queued{Text: text, raw: steering}
}

// userText returns the text of an item, with a word for each file, and its images.
func userText(it transcript.Encoded) (text string, images []transcript.Media) {
	var list []string
	for p := range it.Parts() {
		switch p.Type() {
		case "text":
			text, _ := jsonscan.Unquote(p.Field("text"))
			list = append(list, text)
		case "media":
			var m transcript.Media // an image of an address has no data
			if json.Unmarshal(p, &m) == nil {
				images = append(images, m)
			}
		case "file":
			name, _ := jsonscan.Unquote(p.Field("name"))
			mime, _ := jsonscan.Unquote(p.Field("mime"))
			list = append(list, fmt.Sprintf("[%s]", cmp.Or(name, mime, "file")))
		}
	}
	return strings.Join(list, "\n"), images
}

// rewritten reports that the transcript was replaced.
func (c *Conversation) rewritten(r source, w session.Rewrite) {
	notes := ""
	if len(w.Notes) > 0 {
		notes = ": " + strings.Join(w.Notes, "; ")
	}
	by := ""
	if w.By != "" {
		by = " by " + w.By
	}
	last := lastItem(&w)
	if len(w.Items) > 0 && c.seqOf(last) == 0 {
		c.remember(itemAt{last, r.Seq})
	}
	switch {
	case w.Reason == "return" || w.TruncateAfter != "":
		c.note(r, false, "the conversation was rewound%s%s", by, notes)
		u := &c.out[len(c.out)-1]
		u.Rewound, u.After, u.Block.Item = true, c.seqOf(last), last
		c.state.Usage.Context = 0 // not known before the next answer
		clear(c.waiting)
	case w.Reason == "compaction":
		c.note(r, false, "the conversation was compacted: the model now sees %s%s", term.Count(w.Messages, "message"), notes)
	case w.Reason == "redaction": // its record follows
	case w.Reason == "repair":
		c.note(r, true, "the transcript was repaired%s", notes)
	default:
		c.note(r, false, "the transcript was rewritten by %s: it now has %s%s", cmp.Or(w.By, w.Reason), term.Count(w.Messages, "message"), notes)
	}
}

// lastItem returns the id of the last item of the new transcript; "" if it has none.
func lastItem(w *session.Rewrite) string {
	if len(w.Items) == 0 {
		return w.TruncateAfter
	}
	var it struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(w.Items[len(w.Items)-1], &it) // without an id all blocks are void
	return it.ID
}

// seqOf returns the seq of an item; 0 if it is older than the items that are remembered.
func (c *Conversation) seqOf(id string) int64 {
	for _, at := range slices.Backward(c.items) {
		if at.id == id {
			return at.seq
		}
	}
	return 0
}
