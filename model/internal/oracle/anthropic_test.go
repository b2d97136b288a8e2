package oracle

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/anthropic"
	"github.com/holdfast-dev/holdfast/transcript"
)

const anthropicEvents = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"héllo "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"you"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`

func TestAnthropic(t *testing.T) {
	s := serve(t, anthropicEvents)
	headers := []string{"Accept", "Content-Type", "Anthropic-Version", "X-Api-Key"}

	m, err := anthropic.New("claude-haiku-4-5", &anthropic.Options{APIKey: "made-up", BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	ours := answer(t, m, &model.Request{
		System: "be brief", MaxTokens: 500, Tools: []model.ToolSpec{readTool},
		Messages: conversation(t, m,
			transcript.UserText("look at é <this>"),
			transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{
				transcript.Text{Text: "I look."},
				transcript.ToolUse{ID: "toolu_1", Name: "Read", Input: json.RawMessage(`{"path":"a.go"}`)},
				transcript.ToolUse{ID: "toolu_2", Name: "Read", Input: json.RawMessage(`{"path":"b.png"}`)},
			}},
			transcript.ToolResult{UseID: "toolu_1", Content: []transcript.Part{transcript.Text{Text: "package a"}}}.Item(),
			transcript.ToolResult{UseID: "toolu_2", IsError: true, Content: []transcript.Part{transcript.Text{Text: "no such file"}}}.Item(),
			transcript.Item{Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "and this?"}, transcript.Media{Name: "plan.png", MIME: "image/png", Data: []byte("png")}}},
		),
	})
	got := s.sent(t, headers...)
	var back sdk.MessageNewParams
	if err := json.Unmarshal(s.body, &back); err != nil || len(back.Messages) != 3 {
		t.Errorf("the SDK reads %d messages of ours, %v", len(back.Messages), err)
	}

	cache := sdk.NewCacheControlEphemeralParam()
	second := sdk.NewToolUseBlock("toolu_2", json.RawMessage(`{"path":"b.png"}`), "Read")
	second.OfToolUse.CacheControl = cache
	picture := sdk.NewImageBlockBase64("image/png", "cG5n")
	picture.OfImage.CacheControl = cache
	client := sdk.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("made-up"), option.WithMaxRetries(0))
	stream := client.Messages.NewStreaming(context.Background(), sdk.MessageNewParams{
		Model: "claude-haiku-4-5", MaxTokens: 500,
		System: []sdk.TextBlockParam{{Text: "be brief", CacheControl: cache}},
		Tools: []sdk.ToolUnionParam{{OfTool: &sdk.ToolParam{
			Name: "Read", Description: sdk.String("reads"), CacheControl: cache,
			InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{"path": map[string]any{"type": "string"}}, Required: []string{"path"}},
		}}},
		Messages: []sdk.MessageParam{
			sdk.NewUserMessage(sdk.NewTextBlock("look at é <this>")),
			sdk.NewAssistantMessage(sdk.NewTextBlock("I look."), sdk.NewToolUseBlock("toolu_1", json.RawMessage(`{"path":"a.go"}`), "Read"), second),
			sdk.NewUserMessage(sdk.NewToolResultBlock("toolu_1", "package a", false), sdk.NewToolResultBlock("toolu_2", "no such file", true),
				sdk.NewTextBlock("and this?"), picture),
		},
	})
	var message sdk.Message
	for stream.Next() {
		if err := message.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	want := s.sent(t, headers...)
	// The SDK says is_error: false where the model says nothing.
	delete(want.Body["messages"].([]any)[2].(map[string]any)["content"].([]any)[0].(map[string]any), "is_error")
	same(t, want, got)
	same(t, message.Content[0].Text, ours)
}
