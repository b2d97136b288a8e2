package shellparse

import "testing"

func TestSafeLines(t *testing.T) {
	for _, line := range []string{
		"ls", "ls -la src", "cat a b", "head -n 5 a", "head -5 a", "tail -f a", "wc -l a", "grep -rn x .", "grep -e x a", "rg x", "rg -n x src -g '*.go'",
		"find . -name '*.go'", "find . -type f -not -path './v/*' -print0", "fd x", "echo hi", "printf '%s' x", "pwd", "true", "false", "test -f a", "[ -f a ]",
		"which go", "type ls", "command -v go", "date", "date +%F", "id", "whoami", "uname -a", "hostname", "env A=b ls", "declare X=1", "basename /a/b", "dirname /a",
		"realpath a", "readlink -f a", "stat a", "file a", "du -sh a", "df -h", "tree -L 2", "sort a", "sort -k2 -n a", "uniq -c a", "cut -d: -f1 a", "tr a b",
		"diff -u a b", "cmp a b", "comm -12 a b", "sha256sum a", "md5sum a", "xxd a", "jq . a", "jq -r '.x' a", "yq .a b",
		"git status", "git status -sb", "git log --oneline -5", "git log -p -- a", "git diff", "git diff --stat HEAD~1", "git show HEAD", "git branch", "git branch -a",
		"git branch --list 'x*'", "git remote -v", "git remote get-url origin", "git rev-parse HEAD", "git ls-files", "git blame a", "git describe --tags", "git shortlog -sn",
		"git config --get user.name", "git config -l", "git stash list", "git tag", "git tag -l 'v*'", "git grep x", "git -C sub status", "git --no-pager log",
		"go version", "go env GOPATH", "go list ./...", "go doc fmt", "node --version", "npm --version", "python3 --version", "cargo --version", "rustc --version", "npm ls", "npm view a", "cargo tree",
		"docker ps -a", "docker images", "docker logs x", "kubectl get pods -A", "ps aux", "free -m", "uptime", "man ls", "sed -n 1,5p a", "sed s/a/b/ a",
		"timeout 5 ls", "nice -n 5 cat a", "time ls", "env LANG=C ls", "xargs grep x", "sleep 1", "ls && pwd", "cat a | grep b | sort | uniq -c", "ls 2>/dev/null", "bash -c 'ls -la'",
		"cd sub && ls", "gh pr view 1", "systemctl status x", "journalctl -u x -n 5", "crontab -l", "terraform show", "apt list", "dpkg -l", "brew list", "openssl version",
		"base64 -d a", "seq 5", "tac a", "less a", "ssh-add -l", "unzip -l a.zip", "gofmt -l .", "shellcheck a.sh", "ls *.go", "cat ./*.txt",
	} {
		r := Parse(line, &Options{Dir: "/w", Home: "/home/u"})
		if !r.Safe() {
			t.Errorf("%s\n\tis not safe; unclear: %q", line, r.Unclear)
			for _, c := range r.Commands {
				t.Logf("\t%s safe=%v opaque=%q paths=%v", c.Line, c.Safe, c.Opaque, c.Paths)
			}
		}
	}
}

func TestUnsafeLines(t *testing.T) {
	for _, line := range []string{
		"rm a", "cp a b", "mv a b", "mkdir a", "touch a", "tee a", "ls > a", "echo x >> a", "cat a | tee b", "ls --frob", "cat --frob a", "grep --frob x", "sudo ls", "ls; rm x", "ls $(rm x)",
		"sort -o a b", "sort --output=a b", "sort --compress-program=x a", "sort -oa b", "uniq a b", "xxd -r a b", "xxd a b", "tree -o a", "date -s x", "date 01010000", "hostname x",
		"find . -delete", "find . -exec ls {} +", "find . -fprint a", "find . -ok ls \\;", "find . -frob", "find . -fls a", "fd -x ls", "fd -X ls", "rg --pre x y", "rg --pre=x y", "rg -z x",
		"git -c a.b=c status", "git diff --output=a", "git diff --ext-diff", "git log --textconv", "git log --output a", "git branch x", "git branch -d x", "git branch -D x", "git branch -m a b", "git tag v1",
		"git tag -d v1", "git stash", "git stash pop", "git config a.b c", "git config --unset a.b", "git config -e", "git remote add a b", "git remote remove a", "git grep -Oless x", "git commit -m x", "git push",
		"git checkout x", "git fetch", "git frob", "git --exec-path=/x status", "git show --ext-diff", "git worktree add x", "git add a", "git archive -o x HEAD", "git cat-file --filters x", "git reflog --frob x",
		"go env -w A=B", "go build", "go test ./...", "go run .", "go list -toolexec x", "npm install", "npm audit fix", "npm run x", "npm version patch", "cargo build", "make", "./x.sh", "./ls", "bin/cat a", "frob",
		"docker run x", "docker exec c ls", "kubectl delete pod x", "kubectl exec p -- ls", "sed -i s/a/b/ c", "sed 'w x' a", "sed 's/a/b/w x' c", "sed -n '1e ls' a", "sed -f s a", "awk '{print}' a",
		"python3 -c 1", "node -e 1", "perl -e 1", "PATH=/x ls", "LD_PRELOAD=x ls", "env PATH=/x ls", "env LD_PRELOAD=./x ls", "export PATH=/x", "bash a.sh", "source a", "eval 'rm x'", "alias ls=rm",
		"sort *", "sort $X", "find * -name x", "rg $X", "git diff $X", "git log \"$X\"", "yq -i .a b", "gofmt -w .", "gzip a", "tar xf a", "tar cf a b", "less '+!ls' a", "less -o x a", "man -P x ls", "journalctl --rotate",
		"curl http://x", "wget x", "ssh h ls", "nc h 1", "crontab a", "at now", "systemctl restart x", "terraform apply", "apt install x", "brew install x", "gh pr merge 1", "openssl genrsa -out a", "ssh-keygen -f a", "dmesg -C", "dd if=a of=b", "trap ls EXIT; rm x", "kill 1", "env", "env -0", "env | sort", "env A=b", "printenv", "printenv TOKEN", "set", "export", "export -p", "declare -p", "declare -p X", "declare -x", "typeset -p", "readonly -p", "builtin declare -p", "bash", "bash -i", "gpg -d a", "vim a", "shfmt -w a", "prettier --write a", "ls &> a", "history -c", "history -w x", "watch rm x", "unshare ls", "chroot . ls",
	} {
		if Parse(line, &Options{Dir: "/w", Home: "/home/u"}).Safe() {
			t.Errorf("%s\n\tis safe", line)
		}
	}
}

// A program out of a folder that is not the system's is not the one of that name.
func TestProgramOutsideSystemIsOpaque(t *testing.T) {
	for line, want := range map[string]bool{"/usr/bin/ls a": false, "/bin/cat a": false, "./ls a": true, "/opt/x/ls a": true, "/usr/bin/../../x/ls": true, "bin/ls": true} {
		r := Parse(line, &Options{Dir: "/w"})
		if got := r.Commands[0].Opaque != ""; got != want {
			t.Errorf("%s: opaque is %q", line, r.Commands[0].Opaque)
		}
	}
}
