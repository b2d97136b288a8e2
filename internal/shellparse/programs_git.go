package shellparse

import (
	"path"
	"strings"
)

// gitRows are git and its subcommands, and other version control tools.
const gitRows = `
git | =git | @ | -C:d -c:i -p/--paginate -P/--no-pager --git-dir:R --work-tree:d --namespace: --bare --exec-path?x --html-path~ --man-path~ --info-path~ --no-replace-objects --no-lazy-fetch --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --config-env:u --super-prefix: --attr-source: --list-cmds?~ --version~ -v~ --help~ -h~
git status | safe | s* | -sbvz -u? --short --branch --porcelain? --long --untracked-files? --ignored? --ignore-submodules? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? --show-stash --verbose
git log,git show,git shortlog,git whatchanged,git reflog,git rev-list,git show-branch,git cherry,git range-diff | safe any | s* | -n: -# -p -u -s -c -m -z -q -r -t -g -i -E -F -P -a -b -w -l: -M? -B? -C? -U: -L: -S: -G: -O:r --oneline --graph --all --decorate? --stat? --shortstat --numstat --name-only --name-status --patch --no-patch --follow --reverse --merges --no-merges --first-parent
 --pretty? --format: --abbrev-commit --no-abbrev-commit --date: --author: --committer: --grep: --since: --after: --until: --before: --max-count: --skip: --branches? --tags? --remotes? --no-color --no-decorate --no-pager --topo-order --date-order --author-date-order --cherry-pick --left-right --boundary --cc --summary --no-renames --find-renames? --diff-filter: --word-diff? --color-words? --color?
 --output:w --ext-diff! --textconv! --show-signature! --no-ext-diff --no-textconv --relative-date --source --raw --check --full-index --binary --patch-with-stat --dirstat? --submodule? --ignore-all-space --ignore-space-change --unified: --count --objects --not --stdin --numbered --email --no-walk? --no-notes --notes? --walk-reflogs --show-pulls --simplify-by-decoration --full-history --ancestry-path --exclude: --glob:
git diff,git diff-tree,git diff-index,git diff-files | safe any | s* | -# -p -u -s -z -q -r -t -R -a -b -w -l: -M? -B? -C? -U: -S: -G: -O:r --cached --staged --merge-base --no-index --stat? --shortstat --numstat --name-only --name-status --patch --no-patch --color? --no-color --word-diff? --color-words? --exit-code --quiet --diff-filter: --unified: --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-space-at-eol --minimal --patience --histogram
 --output:w --ext-diff! --textconv! --no-ext-diff --no-textconv --no-renames --find-renames? --check --summary --raw --binary --full-index --relative? --submodule? --ignore-submodules? --function-context -W --inter-hunk-context: --diff-algorithm: --pickaxe-all --abbrev? --no-prefix --compact-summary --dirstat? --base --ours --theirs --src-prefix: --dst-prefix: --text
git blame,git annotate,git describe,git rev-parse,git ls-files,git ls-tree,git name-rev,git merge-base,git cat-file,git for-each-ref,git show-ref,git count-objects,git check-ignore,git check-attr,git check-ref-format,git var,git version,git verify-commit,git patch-id,git get-tar-commit-id,git column,git stripspace,git merge-tree | safe any | s* | -L: -w -e -n -s -p -t -b -l -c -C? -M? -S: -z -o -d -m -k -i -r -u -v -q -h --abbrev? --tags --always --dirty? --match: --exact-match --contains --long --abbrev-ref? --short? --show-toplevel --show-prefix --show-cdup --verify --git-dir --is-inside-work-tree --is-bare-repository --git-common-dir --absolute-git-dir --others --exclude-standard --cached --modified --deleted --stage --error-unmatch --full-name --name-only --name-status --long --format: --sort: --count: --points-at: --merged? --no-merged? --heads --is-ancestor --all --fork-point --batch --batch-check? --textconv! --filters! --exclude-from:r -X:r --porcelain --line-porcelain --incremental --since: --reverse --ignore-rev: --ignore-revs-file:r --contents:r --candidates: --first-parent --show-email --no-flags --symbolic-full-name --symbolic --quiet
git branch | =gitlist | -* | -a/--all -r/--remotes -v -vv --list/-l --show-current --contains? --no-contains? --merged? --no-merged? --sort: --format: --points-at: --column? --no-column --color? --no-color --abbrev? --no-abbrev -q -i -d! -D! -m! -M! -c! -C! -f! -t! -u:! --delete! --move! --copy! --force! --track?! --no-track! --set-upstream-to:! --unset-upstream! --edit-description!
git tag | =gitlist | -* | -l/--list -n? --sort: --format: --contains? --no-contains? --merged? --no-merged? --points-at: --column? --color? -i -a! -s! -d! -f! -m:! -F:r! -u:! -e! -v! --annotate! --sign! --delete! --force! --message:! --file:r! --create-reflog! --cleanup:!
git stash | =gitlist | -* | -p -u -a -k -q -m: -S --patch --include-untracked --all --keep-index --message: --index --stat --staged --oneline
git remote | =gitlist | -* | -v/--verbose -f -t: -m: --tags --no-tags --mirror? --push --all --add --delete -n -p --dry-run
git config | =gitlist | -* | --global --system --local --worktree -f/--file:r --blob: -l/--list --get --get-all --get-regexp --get-urlmatch --get-color --name-only --show-origin --show-scope -z/--null -t/--type: --bool --int --path --default: --includes --no-includes --add! --unset! --unset-all! --replace-all! -e/--edit! --rename-section! --remove-section! --fixed-value --all --value: --url: --regexp
git worktree | =gitlist | -* | -b: -B: -f -d --detach --checkout --no-checkout --lock --reason: --track --no-track --guess-remote -v --porcelain -z --expire: -n --orphan -q
git notes,git sparse-checkout,git maintenance,git lfs,git flow,git subtree,git annex,git svn,git p4,git replace,git rerere,git hook,git multi-pack-index,git commit-graph,git credential,git update-server-info,git pack-refs,git update-ref,git symbolic-ref,git write-tree,git commit-tree,git mktree,git mktag,git hash-object,git read-tree,git update-index,git fast-import,git fast-export,git unpack-objects,git pack-objects,git prune,git repack,git gc,git fsck,git verify-pack,git verify-tag,git mailinfo,git mailsplit,git quiltimport,git imap-send,git request-pull,git interpret-trailers,git bugreport,git diagnose | alters any | s* | -m: -F:r -o:w -w
git bundle | alters any | - w -* | -q
git add,git stage | alters | r* | -nvfipuAN -e --all --update --dry-run --verbose --force --interactive --patch --edit --intent-to-add --refresh --ignore-errors --ignore-missing --sparse --renormalize --chmod: --pathspec-from-file:r --no-all --ignore-removal
git rm | alters | w* | -f -n -q -r+ --force --dry-run --cached --quiet --ignore-unmatch --sparse --pathspec-from-file:r
git mv | alters =into | m* w | -f -k -n -v --force --dry-run --verbose --sparse
git clean | alters =gitclean | W* | -d -f -i -n -q -x -X -e: --force --dry-run --quiet --exclude: --interactive
git restore | alters | W* | -s/--source: -p -q -W -S -m --staged --worktree --patch --quiet --progress --no-progress --ours --theirs --merge --conflict: --ignore-unmerged --overlay --no-overlay --recurse-submodules --pathspec-from-file:r --pathspec-file-nul
git checkout,git switch | alters =gitcheckout | -* | -b: -B: -c: -C: -f -q -t -l -d -m -p --detach --force --quiet --track? --no-track --guess --no-guess --orphan: --merge --patch --ours --theirs --conflict: --create: --force-create: --discard-changes --ignore-skip-worktree-bits --recurse-submodules? --progress --no-progress --overlay --no-overlay --pathspec-from-file:r --overwrite-ignore
git commit | alters =gitcommit | s* | -avqnesop -S? -u? -z -i -m/--message: -F/--file:r -C/--reuse-message: -c/--reedit-message: -t/--template:r --amend --no-edit --edit --all --allow-empty --allow-empty-message --author: --date: --fixup: --squash: --signoff --no-signoff --no-verify --verify --gpg-sign? --no-gpg-sign --dry-run --short --branch --porcelain --long --verbose --quiet --reset-author --cleanup: --status --no-status --include --only --patch --untracked-files? --trailer: --pathspec-from-file:r --no-post-rewrite --interactive
git init | alters =gitinit | W | -q --quiet --bare --template:x -b/--initial-branch: --separate-git-dir:W --shared? --object-format: --ref-format:
git clone | alters =gitclone | -* | -l -s -n -q -v -o/--origin: -b/--branch: -u/--upload-pack:l -c/--config:i -j/--jobs: --depth: --single-branch --no-single-branch --branch: --bare --mirror --recursive? --recurse-submodules? --shallow-submodules --no-tags --tags --filter: --reference:R --reference-if-able:R --dissociate --separate-git-dir:W --template:x --shallow-since: --shallow-exclude: --no-checkout --quiet --verbose --progress --local --no-local --no-hardlinks --shared --sparse --remote-submodules --server-option: --bundle-uri: --also-filter-submodules --reject-shallow --no-shallow-submodules -4 -6 --revision:
git fetch,git pull,git push,git ls-remote,git fetch-pack,git send-pack | alters any =gittransport | -* | -u -f -a -p -P -n -t -q -v -r? -k -j: -o: -d -4 -6 -s? --upload-pack:l --receive-pack/--exec:l --all --prune --tags --no-tags --depth: --unshallow --rebase? --no-rebase --ff-only --ff --no-ff --force --force-with-lease? --set-upstream --delete --dry-run --mirror --no-verify --quiet --verbose --progress --autostash --no-autostash --recurse-submodules? --atomic --follow-tags --signed? --repo: --refmap: --heads --refs --symref --get-url --exit-code --sort: --squash --no-commit --commit --edit --no-edit --strategy: -X: --strategy-option: --allow-unrelated-histories --push-option: --shallow-since: --filter: --jobs: --append --keep --multiple --update-head-ok --porcelain --prune-tags --stat
git archive | =gittransport | -* | --format: -l/--list --prefix: -o/--output:w --add-file:r --add-virtual-file: --worktree-attributes -v --verbose --remote: --exec:l -# --mtime:
git merge,git cherry-pick,git revert,git reset,git am,git apply,git rebase,git bisect,git submodule,git filter-branch,git difftool,git mergetool,git grep,git send-email,git format-patch,git instaweb,git gui,git citool,git daemon,git web--browse,git filter-repo,git shell,git cvsserver,git http-backend,git upload-pack,git receive-pack | =gitruns | -* | --
hg,svn,jj,fossil,bzr,cvs,p4,darcs,pijul,sl | =othervcs | -* | --
`

// gitRuns are the options of git's subcommands whose value is run.
var gitRuns = map[string]string{
	"git difftool": "-x --extcmd", "git rebase": "-x --exec", "git grep": "-O --open-files-in-pager", "git daemon": "--access-hook",
	"git send-email": "--to-cmd --cc-cmd --sendmail-cmd --header-cmd --smtp-server", "git instaweb": "-b --browser -d --httpd",
	"git filter-branch": "--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter",
	"git filter-repo":   "--filename-callback --message-callback --name-callback --email-callback --blob-callback --commit-callback --tag-callback --refname-callback",
}

// gitKeyRuns reports whether the value of a setting is run, or names a program. Other settings of
// these sections do not.
func gitKeyRuns(key string) bool {
	key = strings.ToLower(key)
	switch key {
	case "core.editor", "core.pager", "core.sshcommand", "core.fsmonitor", "core.askpass", "core.gitproxy", "core.alternaterefscommand", "sequence.editor",
		"diff.external", "gpg.program", "web.browser", "credential.helper", "interactive.difffilter", "uploadpack.packobjectshook", "sendemail.sendmailcmd",
		"sendemail.tocmd", "sendemail.cccmd", "gc.recentobjectshook", "protocol.ext.allow", "ssh.variant", "help.browser", "init.templatedir", "core.hookspath",
		"core.attributesfile", "include.path", "core.worktree", "receive.procreceiverefs", "sendemail.smtpserver", "sendemail.headercmd", "core.gitdir":
		return true
	}
	for _, p := range []string{"alias.", "pager."} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	for _, s := range []string{".cmd", ".program", ".textconv", ".command", ".driver", ".clean", ".smudge", ".process", ".helper", ".uploadpack", ".receivepack", ".vcs", ".path", ".defaultkeycommand", ".update"} {
		if strings.HasSuffix(key, s) {
			return !strings.HasSuffix(key, ".path") || strings.HasPrefix(key, "man.") || strings.HasPrefix(key, "difftool.") || strings.HasPrefix(key, "mergetool.") || strings.HasPrefix(key, "includeif.") || strings.HasPrefix(key, "browser.")
		}
	}
	return false
}

// gitSetting parses -c key=value.
func (c *call) gitSetting(w word) {
	key, value, has := strings.Cut(w.text, "=")
	c.unsafe = true
	if !w.static && (mayBeOption(w) || !has || gitKeyRuns(strings.Trim(key, `"`))) {
		c.out.unclear = "cannot determine what git does with the setting " + key
		return
	}
	low := strings.ToLower(key)
	switch {
	case strings.HasPrefix(low, "alias."):
		if line, ok := strings.CutPrefix(value, "!"); ok {
			c.codeLine(line, "git alias", false)
		} else {
			c.out.runs = append(c.out.runs, run{via: "git alias", line: "git " + value})
		}
	case low == "core.hookspath" || low == "core.attributesfile" || low == "include.path" || strings.HasPrefix(low, "includeif.") || low == "init.templatedir":
		c.addPath(word{text: value, static: w.static}, w.text, Read|Exec, FromArgument, true)
		c.opaque("runs the commands in " + value)
	case low == "core.worktree" || low == "core.gitdir":
		c.addPath(word{text: value, static: w.static}, w.text, Read|Write, FromArgument, true)
	case low == "core.fsmonitor" && (value == "false" || value == "true" || value == ""):
	case strings.HasPrefix(low, "pager.") && (value == "false" || value == "true" || value == ""):
	case (low == "core.pager" || low == "credential.helper") && (value == "" || value == "cat" || value == "store" || value == "cache"):
		c.unsafe = low != "core.pager"
	case low == "protocol.ext.allow":
		c.opaque("allows addresses that run commands")
	case gitKeyRuns(key):
		if strings.HasPrefix(low, "credential.") && !strings.HasPrefix(value, "!") && !strings.Contains(value, "/") {
			value = "git credential-" + value
		}
		c.codeLine(strings.TrimPrefix(value, "!"), "git "+key, false)
	default:
		if path.IsAbs(value) || strings.HasPrefix(value, "~") || strings.HasPrefix(value, "..") {
			c.addPath(word{text: value, static: w.static}, w.text, Read, FromArgument, false)
		}
		c.unsafe = !strings.HasPrefix(low, "color.") && !strings.HasPrefix(low, "user.") && low != "core.quotepath" && low != "advice.detachedhead"
	}
}
