package chat

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server of the project is asked about when the box is empty. What was typed meanwhile stays, and what
// was sent waits for the answer.
func TestServerQuestion(t *testing.T) {
	home, dir, script := withSettings(t, `{}`)
	write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"weather": {"command": "weather-server"}}}`)
	x := talkIn(t, home, dir, script, nil)
	x.types("yes please")
	x.until("1 question waits · ctrl-g · MCP servers")
	if s := x.screen(); !strings.Contains(s, "> yes please") {
		t.Errorf("what was typed is lost:\n%s", s)
	}
	x.press("enter")
	if s := x.until("y yes · n no · l later"); !strings.Contains(s, "weather-server") {
		t.Errorf("the server is not shown:\n%s", s)
	}
	x.press("ctrl-g")
	x.until("sending  yes please")
	x.press("ctrl-g")
	x.screen()
	time.Sleep(600 * time.Millisecond) // the guard is in real time
	x.types("n")
	x.until("1 model call")
	if b, err := os.ReadFile(filepath.Join(home, ".holdfast", "trust.json")); err != nil || !strings.Contains(string(b), "weather") {
		t.Errorf("the answer is not stored: %v %s", err, b)
	}
}
