package oracle

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/openai"
	"github.com/holdfast-dev/holdfast/transcript"
)

const openaiEvents = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{"role":"assistant","content":"héllo "}}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{"content":"you"}}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-5.1","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}

data: [DONE]

`

func TestOpenAI(t *testing.T) {
	s := serve(t, openaiEvents)
	headers := []string{"Content-Type", "Authorization"}

	m, err := openai.New("gpt-5.1", &openai.Options{APIKey: "made-up", HTTPClient: s.clientForAnyHost()})
	if err != nil {
		t.Fatal(err)
	}
	ours := answer(t, m, &model.Request{
		System: "be brief", MaxTokens: 500, Effort: "low", Tools: []model.ToolSpec{readTool},
		Messages: conversation(t, m,
			transcript.Item{Role: transcript.RoleDeveloper, Parts: []transcript.Part{transcript.Text{Text: "speak French"}}},
			transcript.UserText("look at é <this>"),
			transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{
				transcript.Text{Text: "I look."},
				transcript.ToolUse{ID: "call_1", Name: "Read", Input: json.RawMessage(`{"path":"a \"b\"\\.go"}`)},
			}},
			transcript.ToolResult{UseID: "call_1", Content: []transcript.Part{transcript.Text{Text: "package a"}}}.Item(),
			transcript.Item{Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Text{Text: "and this?"}, transcript.Media{Name: "plan.png", MIME: "image/png", Data: []byte("png")}}},
		),
	})
	got := s.sent(t, headers...)

	use := sdk.AssistantMessage("I look.")
	use.OfAssistant.ToolCalls = []sdk.ChatCompletionMessageToolCallUnionParam{{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
		ID: "call_1", Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: "Read", Arguments: `{"path":"a \"b\"\\.go"}`},
	}}}
	client := sdk.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey("made-up"), option.WithMaxRetries(0))
	stream := client.Chat.Completions.NewStreaming(context.Background(), sdk.ChatCompletionNewParams{
		Model: "gpt-5.1", MaxCompletionTokens: sdk.Int(500), ReasoningEffort: "low",
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
		Tools: []sdk.ChatCompletionToolUnionParam{sdk.ChatCompletionFunctionTool(sdk.FunctionDefinitionParam{
			Name: "Read", Description: sdk.String("reads"),
			Parameters: map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}, "required": []string{"path"}},
		})},
		Messages: []sdk.ChatCompletionMessageParamUnion{
			sdk.SystemMessage("be brief"), sdk.DeveloperMessage("speak French"), sdk.UserMessage("look at é <this>"), use,
			sdk.ToolMessage("package a", "call_1"),
			sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{
				sdk.TextContentPart("and this?"),
				sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64,cG5n"}),
			}),
		},
	})
	var total sdk.ChatCompletionAccumulator
	for stream.Next() {
		total.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	same(t, s.sent(t, headers...), got)
	same(t, total.Choices[0].Message.Content, ours)
}
