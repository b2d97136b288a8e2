package view

import (
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/transcript"
)

// partialBlocks converts deltas to the streaming events of the provider:
//
//	message_start, (content_block_start, content_block_delta…, content_block_stop)…, message_delta, message_stop
type partialBlocks struct {
	started bool
	open    string // "text", "thinking", or a tool use's id
	index   int    // of the open block
	next    int
}

type partialEvent struct {
	Type    string       `json:"type"`
	Index   *int         `json:"index,omitempty"`
	Message *wireMessage `json:"message,omitempty"`
	Block   *wireBlock   `json:"content_block,omitempty"`
	Delta   any          `json:"delta,omitempty"`
	Usage   *wireUsage   `json:"usage,omitempty"`
}

type blockDelta struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	Thinking *string `json:"thinking,omitempty"`
	JSON     *string `json:"partial_json,omitempty"`
}

// delta writes one delta and the events that must come before it.
func (b *partialBlocks) delta(e event.Event, model string, emit func(any) error) error {
	var (
		key   string
		block wireBlock
		d     blockDelta
		empty string
	)
	switch e := e.(type) {
	case event.TextDelta:
		key, block, d = "text", wireBlock{Type: "text", Text: &empty}, blockDelta{Type: "text_delta", Text: &e.Text}
	case event.ThinkingDelta:
		key, block, d = "thinking", wireBlock{Type: "thinking", Thinking: &empty}, blockDelta{Type: "thinking_delta", Thinking: &e.Text}
	case event.ToolInputDelta:
		key = e.Use
		block = wireBlock{Type: "tool_use", ID: e.Use, Name: e.Tool, Input: []byte("{}")}
		d = blockDelta{Type: "input_json_delta", JSON: &e.JSON}
	}
	if !b.started {
		b.started = true
		m := wireMessage{Type: "message", Role: "assistant", Model: model, Content: []wireBlock{}, Usage: &wireUsage{}}
		if err := emit(partialEvent{Type: "message_start", Message: &m}); err != nil {
			return err
		}
	}
	if b.open != key {
		if err := b.stop(emit); err != nil {
			return err
		}
		b.open, b.index = key, b.next
		b.next++
		if err := emit(partialEvent{Type: "content_block_start", Index: b.at(), Block: &block}); err != nil {
			return err
		}
	}
	return emit(partialEvent{Type: "content_block_delta", Index: b.at(), Delta: d})
}

func (b *partialBlocks) at() *int {
	i := b.index
	return &i
}

func (b *partialBlocks) stop(emit func(any) error) error {
	if b.open == "" {
		return nil
	}
	b.open = ""
	return emit(partialEvent{Type: "content_block_stop", Index: b.at()})
}

// end closes the message when its item is complete.
func (b *partialBlocks) end(it transcript.Item, emit func(any) error) error {
	if !b.started {
		return nil
	}
	if err := b.stop(emit); err != nil {
		return err
	}
	*b = partialBlocks{}
	m := assistantMessage(it)
	delta := map[string]any{"stop_reason": m.StopReason, "stop_sequence": nil}
	if err := emit(partialEvent{Type: "message_delta", Delta: delta, Usage: m.Usage}); err != nil {
		return err
	}
	return emit(partialEvent{Type: "message_stop"})
}
