package shellparse_test

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

func ExampleParse() {
	r := shellparse.Parse("cd src && sudo rm -rf $(cat list) > log", &shellparse.Options{Dir: "/w", Home: "/home/u"})
	for _, c := range r.Commands {
		fmt.Println(c.Dir, c.Wrappers, c.Line)
	}
	fmt.Println(r.Static(), r.Safe())
	// Output:
	// /w [] cd src
	// /w/src [] sudo rm -rf $(cat list)
	// /w/src [$()] cat list
	// /w/src [sudo] rm -rf $(cat list)
	// true false
}

// A word where a program stands cannot be guessed.
func ExampleReading_Static() {
	r := shellparse.Parse("$TOOL --version", nil)
	fmt.Println(r.Static(), r.Unclear)
	// Output: false [cannot determine the program: $TOOL]
}

func ExampleReading_Safe() {
	for _, line := range []string{"echo rm", "echo rm > x", "PATH=. true"} {
		fmt.Println(shellparse.Parse(line, nil).Safe(), line)
	}
	// Output:
	// true echo rm
	// false echo rm > x
	// false PATH=. true
}

func ExampleCanonical() {
	fmt.Println(shellparse.Canonical("git", "commit", "-m", "it's done", "--", "a b", "x=1"))
	// Output: git commit -m 'it'\''s done' -- 'a b' x=1
}
