package runtext

import "testing"

func TestHookName(t *testing.T) {
	for name, want := range map[string]string{
		`"$CLAUDE_PROJECT_DIR"/.claude/hooks/a.sh`:         `.claude/hooks/a.sh`,
		`"$CLAUDE_PROJECT_DIR/my hooks/a.sh" --x`:          `"my hooks/a.sh" --x`,
		`python3 ${CLAUDE_PROJECT_DIR}/a.py`:               `python3 a.py`,
		`uv run "${CLAUDE_PROJECT_DIR}"/a.py`:              `uv run a.py`,
		`$CLAUDE_PROJECT_DIRECTORY/a`:                      `$CLAUDE_PROJECT_DIRECTORY/a`,
		`cd "$CLAUDE_PROJECT_DIR" && make`:                 `cd "$CLAUDE_PROJECT_DIR" && make`,
		`http://127.0.0.1:9/x`:                             `http://127.0.0.1:9/x`,
		`$CLAUDE_PROJECT_DIR/a | $CLAUDE_PROJECT_DIR/b.sh`: `a | b.sh`,
	} {
		if got := HookName(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
