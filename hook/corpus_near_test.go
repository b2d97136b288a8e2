package hook

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// What cases of the same kind would say.
func TestCorpusVariants(t *testing.T) {
	for _, c := range []struct{ settings, input, expect string }{
		{`{"command":"echo hello"}`, `{}`, `{"message":"hello"}`},
		{`{"command":"printf 'one\r\ntwo\r\n'"}`, `{}`, `{"message":"one\r\ntwo"}`},
		{`{"command":"printf 'grün 😀'"}`, `{}`, `{"message":"grün 😀"}`},
		{`{"command":"echo $HOOK_EVENT $HOOK_TOOL_NAME"}`, `{"event":"postToolUse","toolName":"bash"}`, `{"message":"postToolUse bash"}`},
		{`{"command":"echo \"[$HOOK_TOOL_NAME]\""}`, `{"event":"stop"}`, `{"message":"[]"}`},
		{`{"command":"echo no >&2; exit 2"}`, `{}`, `null`},
		{`{"command":"/no/such/program"}`, `{}`, `null`},
		{`{"command":"echo '   '"}`, `{}`, `null`},
		{`{"command":"echo '{\"message\":'"}`, `{}`, `{"message":"{\"message\":"}`},
		{`{"command":"echo '\"text\"'"}`, `{}`, `{"message":"\"text\""}`},
		{`{"command":"echo 42"}`, `{}`, `{"message":"42"}`},
		{`{"command":"echo null"}`, `{}`, `{"message":"null"}`},
		{`{"stdout":{"reason":"because"}}`, `{}`, `{"reason":"because"}`},
		{`{"stdout":{"additionalContext":"know this"}}`, `{}`, `{"additionalContext":"know this"}`},
		{`{"stdout":{"permissionDecision":"ask"}}`, `{}`, `{"permissionDecision":"ask"}`},
		{`{"stdout":{"permissionDecision":"allow","message":"m"}}`, `{}`, `{"permissionDecision":"allow","message":"m"}`},
		{`{"stdout":{"decision":"block","reason":"r"}}`, `{}`, `{"block":true,"reason":"r"}`},
		{`{"stdout":{"decision":"approve"}}`, `{}`, `{"block":false}`},
		{`{"stdout":{"decision":"approve","block":true}}`, `{}`, `{"block":false}`},
		{`{"stdout":{"decision":"block","block":false}}`, `{}`, `{"block":true}`},
		{`{"stdout":{"message":"m","unknown":{"a":1}}}`, `{}`, `{"message":"m","block":false}`},
		{`{"stdout":{"updatedInput":{"deep":{"a":[1,"2",null]}}}}`, `{}`, `{"updatedInput":{"deep":{"a":[1,"2",null]}}}`},
		{`{"stdout":{"updatedMCPToolOutput":"a text"}}`, `{}`, `{"updatedMCPToolOutput":"a text"}`},
		{`{"stdout":{"permissionUpdate":{"tool":"Write","behavior":"allow"}}}`, `{}`, `{"permissionUpdate":{"tool":"Write","behavior":"allow"}}`},
		{`{"stdout":{"permissionUpdate":{"tool":"mcp__s__t","behavior":"ask"}}}`, `{}`, `{"permissionUpdate":null}`}, // not applied, and told: a grant allows or denies
		{`{"stdout":{"notification":{"title":"t","body":"b","level":"error"}}}`, `{}`, `{"notification":{"title":"t","body":"b","level":"error"}}`},
		{`{"stdout":{"notification":{"title":"t"},"message":"m"}}`, `{}`, `{"notification":null,"message":"m"}`},
		{`{"stdout":{"notification":{"body":"b"},"message":"m"}}`, `{}`, `{"notification":null,"message":"m"}`},
		{`{"command":"sleep 5","timeout_ms":1}`, `{}`, `null`},
		{`{"command":"head -c 1000000 /dev/zero | tr '\\0' a"}`, `{}`, `{"message_len":1000000}`},
		{`{"timeout_ms":-5}`, `{}`, `{"effective_ms":1}`},
		{`{"timeout_ms":1500}`, `{}`, `{"effective_ms":1500}`},
		{`{}`, `{"agentId":"a1"}`, `{"agentId":"a1"}`},
		{`{}`, `{"transcriptPath":"/t/x.jsonl"}`, `{"transcriptPath":"/t/x.jsonl"}`},
		{`{}`, `{"sessionId":"sü"}`, `{"sessionId":"sü"}`},
		{`{}`, `{"cwd":"/a b"}`, `{"cwd":"/a b"}`},
	} {
		t.Run(c.settings+c.input, func(t *testing.T) {
			checkShell(t, corpus.NewCase(map[string]string{"settings": c.settings, "input": c.input, "expect": c.expect}))
		})
	}
	for _, c := range []struct{ settings, input, expect string }{
		{`{"hooks":["first:msg","second:nil","third:msg"]}`, `{"execute":"stop"}`, `{"order":["first","second","third"],"results":["first","third"]}`},
		{`{"hooks":[{"matcher":"^Bash$"}]}`, `{"tool":"Bash"}`, `{"called":true}`},
		{`{"hooks":[{"matcher":"Edit|Write"}]}`, `{"tool":"Write"}`, `{"called":true}`},
		{`{"hooks":[{"matcher":"Edit|Write"}]}`, `{"tool":"Bash"}`, `{"called":false}`},
		{`{"hooks":[{"matcher":"mcp__.*"}]}`, `{"tool":"mcp__s__t"}`, `{"called":true}`},
		{`{"hooks":[{"matcher":""}]}`, `{"tool":"Bash"}`, `{"called":true}`},
		{`{"hooks":[{"matcher":"(?i)bash"}]}`, `{"tool":"Bash"}`, `{"called":true}`},
		{`{"hooks":[{"block":true,"message":"no"},{"block":true,"message":"never"}]}`, `{"tool":"Bash"}`, `{"content":"Error: no"}`},
		{`{"hooks":[{"message":"log"},{"block":true}]}`, `{"tool":"Bash"}`, `{"content":"Error: Tool execution blocked by hook"}`},
		{`{"config":["preToolUse","nope"]}`, `{}`, `{"error":true}`},
		{`{"register":["stop:a"],"config":["stop:b","stop:c"]}`, `{"execute":"stop"}`, `["a","b","c"]`},
		{`{"hooks":[{"sleep_ms":100,"timeout_ms":1},{"sleep_ms":100,"timeout_ms":1}]}`, `{"execute":"postToolUse"}`, `[]`},
		{`{}`, `{"level":"warning"}`, `"warning"`},
		{`{}`, `{"level":""}`, `"info"`},
		{`{}`, `{"level":"ERROR"}`, `"info"`},
		{`{"hooks":[{"timeout_ms":5}]}`, `{}`, `{"timeout_ms":5}`},
	} {
		t.Run(c.settings+c.input, func(t *testing.T) {
			checkRegistry(t, corpus.NewCase(map[string]string{"settings": c.settings, "input": c.input, "expect": c.expect}))
		})
	}
}
