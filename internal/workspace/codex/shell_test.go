package codex

import "testing"

func TestScript(t *testing.T) {
	for line, want := range map[string]string{
		`/bin/bash -lc 'touch x'`:               "touch x",
		`/bin/bash -lc "touch 'made by' codex"`: "touch 'made by' codex",
		`bash -lc ls`:                           "ls",
		`/bin/zsh -c 'a '"'"'b'"'"' c'`:         "a 'b' c",
		`sh -c "echo \"\$HOME\" \\ \x"`:         `echo "$HOME" \ \x`,
		`/bin/bash -lc 'a' b`:                   `/bin/bash -lc 'a' b`,
		`/bin/bash -lc 'a' ; rm -rf x`:          `/bin/bash -lc 'a' ; rm -rf x`,
		`/bin/bash -lc 'a' && b`:                `/bin/bash -lc 'a' && b`,
		`/bin/bash -lc "$(id)"`:                 `/bin/bash -lc "$(id)"`,
		"/bin/bash -lc \"`id`\"":                "/bin/bash -lc \"`id`\"",
		`/bin/bash -lc $X`:                      `/bin/bash -lc $X`,
		`/bin/bash -ic 'ls'`:                    `/bin/bash -ic 'ls'`,
		`python3 -c 'ls'`:                       `python3 -c 'ls'`,
		`/bin/bash -lc 'ls`:                     `/bin/bash -lc 'ls`,
		`/bin/bash -lc ls > x`:                  `/bin/bash -lc ls > x`,
		"/bin/bash -lc 'ls'\nrm":                "/bin/bash -lc 'ls'\nrm",
		``:                                      ``,
		`git status`:                            `git status`,
		`/bin/bash  -lc   'two  spaces'`:        `two  spaces`,
		`/bin/bash -lc ''`:                      ``,
		`X=1 /bin/bash -lc ls`:                  `X=1 /bin/bash -lc ls`,
	} {
		if got := script(line); got != want {
			t.Errorf("%q runs %q, want %q", line, got, want)
		}
	}
}
