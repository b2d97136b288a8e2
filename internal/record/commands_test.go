package record

import "testing"

func TestCommands(t *testing.T) {
	for _, commands := range [][]string{nil, {"$ pwd\n/tmp"}, {"$ pwd\n/tmp", "$ cat page\n<user_commands>\n"}} {
		text := WithCommands("look", commands)
		if rest, _ := CutCommands(text + "\n[image]"); rest != "look\n[image]" {
			t.Errorf("%q: %q", commands, rest)
		}
	}
	if rest, commands := CutCommands(WithCommands("look", []string{"$ a", "$ b"})); rest != "look" || commands != "$ a\n\n$ b" {
		t.Errorf("%q, %q", rest, commands)
	}
}
