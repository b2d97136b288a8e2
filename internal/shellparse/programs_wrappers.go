package shellparse

// wrapperRows are programs that only run another command, which is in their operands.
const wrapperRows = `
env | safe wrapper =env | c | -i0v -u/--unset: -P: -C/--chdir:d -S/--split-string:i --ignore-environment --null --debug
 --block-signal? --default-signal? --ignore-signal? --list-signal-handling
command | safe wrapper | c | -p -v~ -V~
builtin,then,nohup,noglob,nocorrect,dbus-launch,chronic,nocache,eatmydata,dumb-init,catchsegv | safe wrapper | c | --
exec | wrapper | c | -c -l -a:
nice | safe wrapper | c | -n/--adjustment: -#
ionice | safe wrapper | c | -c/--class: -n/--classdata: -t/--ignore -p/--pid:~ -P/--pgid:~ -u/--uid:~
timeout | safe wrapper | - c | -k/--kill-after: -s/--signal: -v/--verbose -p -f --preserve-status --foreground
stdbuf | safe wrapper | c | -i/--input: -o/--output: -e/--error:
setsid | safe wrapper | c | -c/--ctty -f/--fork -w/--wait
time | safe wrapper | c | -p/--portability -a/--append -v/--verbose -q/--quiet -l -o/--output:w -f/--format:
sudo | wrapper =sudo | c | -u/--user: -g/--group: -h/--host: -p/--prompt: -C/--close-from: -r/--role: -t/--type: -T/--command-timeout:
 -U/--other-user: -R/--chroot:d -D/--chdir:d -A/--askpass -b/--background -B/--bell -E --preserve-env? -e/--edit -H/--set-home
 -i/--login -s/--shell -K/--remove-timestamp~ -k/--reset-timestamp -l/--list~ -n/--non-interactive -N/--no-update -P/--preserve-groups
 -S/--stdin -v/--validate~ -V~ --help~ --version~
sudoedit | | m* | -u: -g: -n
doas | wrapper =sudo | c | -u: -C:r -a: -n -s/--shell -L~
pkexec,run0 | wrapper | c | -u/--user: --disable-internal-agent --keep-cwd -D/--chdir:d -g/--group: --unit: --property: --setenv: --nice:
gosu,su-exec | wrapper | - c | --
su | wrapper =su | -* | -c/--command/--session-command:i -s/--shell:x -l/--login -m -p/--preserve-environment -P/--pty -f/--fast
 -g/--group: -G/--supp-group: -w/--whitelist-environment:
runuser | wrapper =su | -* | -c/--command/--session-command:i -s/--shell:x -l/--login -m -p/--preserve-environment -P/--pty -f/--fast
 -u/--user:i -g/--group: -G/--supp-group: -w/--whitelist-environment:
sg | wrapper =sg | - -* | -c:l
xargs | safe wrapper =xargs | c | -0/--null -a/--arg-file:r -d/--delimiter: -E: -e/--eof? -I: -i/--replace? -J: -L: -l/--max-lines? -n/--max-args:
 -P/--max-procs: -p/--interactive -r/--no-run-if-empty -R: -S: -s/--max-chars: -t/--verbose -x/--exit -o/--open-tty --show-limits --process-slot-var:
parallel,sem,rush | wrapper =parallel | c | -j/--jobs/-P/--max-procs: -a/--arg-file:r -n/--max-args: -N/--max-replace-args: -I: -k/--keep-order -0/--null -d/--delimiter:
 -C/--colsep: -q/--quote -v/--verbose -t --dry-run --bar --progress --eta --halt: --joblog:w --tag --line-buffer/--lb --will-cite -u/--ungroup
 -X -m -x -r/--no-run-if-empty --resume --results:W --retries: --timeout: --delay: --wd/--workdir:d --env: -S/--sshlogin: --sshloginfile:r --tmpdir:w
 --pipe --block: --recstart: --recend: --round-robin -L/--max-lines: -l? -i? -U: --group -g --shuf --bg --fg --wait --semaphore --id:
entr | wrapper =entr | c | -acdnprxz -s
watch | safe wrapper =watch | c | -n/--interval: -d/--differences? -t/--no-title -b/--beep -e/--errexit -g/--chgexit -c/--color -C/--no-color -x/--exec -p/--precise -q/--equexit: -r/--no-rerun -w/--no-wrap
viddy,hwatch | safe wrapper =watch | c | -n/--interval: -d/--differences -t/--no-title
flock | wrapper late =flock | w c | -c/--command:l -s/--shared -x/-e/--exclusive -n/--nb/--nonblock -u/--unlock -o/--close -F/--no-fork -w/--wait/--timeout: -E/--conflict-exit-code: --verbose
script | wrapper late =script | w c | -c/--command:l -a/--append -e/--return -f/--flush -q/--quiet -k -r -p -d -t? -T/--log-timing:w -O/--log-out:w -I/--log-in:w -B/--log-io:w -m/--logging-format: -E/--echo: -o/--output-limit: --force
strace,ltrace,truss,dtruss | wrapper =trace | c | -o/--output:w -e/--trace: -p/--attach:~ -s/--string-limit: -u/--user: -E/--env: -P/--trace-path:r -a: -b: -I: -O: -S: -X: -U: -l: -n: -x: -D:
 -f/--follow-forks -F -c -C -d -h -i -k -N -q -r -t -T -v -V~ -w -y -z -Z -A --output-separately
ltrace | wrapper =trace | c | -o/--output:w -e: -p:~ -s: -u: -l/--library: -n/--indent: -x: -a: -A: -D: -F:r -f -c -C -i -L -r -S -t -T -b -w:
perf | | @ | --
perf record,perf stat,perf trace,perf mem record | wrapper | c | -e/--event: -o/--output:w -F/--freq: -c/--count: -p/--pid: -t/--tid: -C/--cpu: -r/--repeat: --call-graph: -g -a -d -v -q -s -x: -B -A -I: -D: --
valgrind | wrapper any | c | -q -v -h~ --tool:
hyperfine | | l* | -w/--warmup: -r/--runs: -m/--min-runs: -M/--max-runs: -p/--prepare:l -s/--setup:l -c/--cleanup:l -C/--conclude:l --export-json:w --export-markdown:w
 --export-csv:w --export-asciidoc:w -N -S/--shell:x -i/--ignore-failure -u/--time-unit: --style: -n/--command-name: -P/--parameter-scan:u -L/--parameter-list:u --show-output --output: --input:r
chroot | wrapper | R c | --userspec: --groups: --skip-chdir
unshare | wrapper =shellless | c | -m/--mount? -u/--uts? -i/--ipc? -n/--net? -p/--pid? -U/--user? -C/--cgroup? -T/--time? -f/--fork -r/--map-root-user -c/--map-current-user
 --map-auto --map-user: --map-group: --map-users: --map-groups: --kill-child? --mount-proc? --propagation: --setgroups: -R/--root:d -w/--wd:d -S/--setuid: -G/--setgid: --keep-caps --monotonic: --boottime: -l
nsenter | wrapper =shellless | c | -a/--all -t/--target: -m/--mount? -u/--uts? -i/--ipc? -n/--net? -p/--pid? -U/--user? -C/--cgroup? -T/--time? -S/--setuid: -G/--setgid: -r/--root? -w/--wd? -W/--wdns:
 --preserve-credentials -F/--no-fork -Z/--follow-context -e/--env
taskset | safe wrapper =taskset | - c | -a/--all-tasks -p/--pid -c/--cpu-list
chrt | wrapper =taskset | - c | -b/--batch -d/--deadline -f/--fifo -i/--idle -o/--other -r/--rr -R/--reset-on-fork -a/--all-tasks -p/--pid -v/--verbose -m/--max~ -T/--sched-runtime: -P/--sched-period: -D/--sched-deadline:
numactl | safe wrapper | c | -a/--all -i/--interleave: -w/--weighted-interleave: -p/--preferred: -P/--preferred-many: -N/--cpunodebind: -C/--physcpubind: -m/--membind: -b/--balancing -l/--localalloc -s/--show~ -H/--hardware~ -B
prlimit | wrapper | c | -p/--pid:~ -o/--output: --noheadings --raw --verbose -c/--core? -d/--data? -e/--nice? -f/--fsize? -i/--sigpending? -l/--memlock? -m/--rss? -n/--nofile? -q/--msgqueue? -r/--rtprio? -s/--stack? -t/--cpu? -u/--nproc? -v/--as? -x/--locks? -y/--rttime?
systemd-run | wrapper =shellless | c | --user --system --scope -p/--property: -E/--setenv: -u/--unit: -t/--pty -P/--pipe -q/--quiet -G/--collect -d/--same-dir --wait -r/--remain-after-exit --uid: --gid: --nice: --working-directory:d
 --slice: --slice-inherit --description: -M/--machine: -H/--host: --service-type: --send-sighup --no-block --no-ask-password -S/--shell --on-active: --on-boot: --on-startup: --on-unit-active: --on-unit-inactive: --on-calendar:
 --on-clock-change --on-timezone-change --timer-property: --path-property: --socket-property: --expand-environment: --background:
systemd-inhibit | wrapper | c | --what: --who: --why: --mode: --list~ --no-pager --no-legend
setarch | wrapper late =setarch | - c | -B/--32bit -F/--fdpic-funcptrs -I/--short-inode -L/--addr-compat-layout -R/--addr-no-randomize -S/--whole-seconds -T/--sticky-timeouts -X/--read-implies-exec -Z/--mmap-page-zero -3/--3gb --4gb --uname-2.6 -v/--verbose --list~
linux32,linux64,i386,i486,i586,i686,x86_64,uname26,aarch64 | safe wrapper | c | -B/--32bit -F/--fdpic-funcptrs -I/--short-inode -L/--addr-compat-layout -R/--addr-no-randomize -S/--whole-seconds -T/--sticky-timeouts -X/--read-implies-exec -Z/--mmap-page-zero -3/--3gb --4gb --uname-2.6 -v/--verbose
arch | safe wrapper | c | -arm64 -x86_64
dbus-run-session | wrapper | c | --config-file:r --dbus-daemon:x
proxychains,proxychains4,proxychains-ng | wrapper | c | -q -f:r
torsocks,torify,tsocks,usewithtor | wrapper | c | -a/--address: -P/--port: -u/--user: -p/--pass: -i/--isolate -d/--debug -q/--quiet
fakeroot,fakeroot-ng,fakechroot | wrapper =shellless | c | -l/--lib: -s:w -i:r -b: -u/--unknown-is-real --faked:x -c:
faketime | safe wrapper | - c | -m -f -p: --exclude-monotonic
unbuffer | wrapper | c | -p
rlwrap | wrapper | c | -a? -A? -b/--break-chars: -c/--complete-filenames -C/--command-name: -D/--history-no-dupes: -e/--extra-char-after-completion: -f/--file:r -g/--forget-matching: -h~ -H/--history-filename:m -i/--case-insensitive
 -I/--pass-sigint-as-sigterm -l/--logfile:w -m? -M/--multi-line-ext: -n/--no-warnings -N/--no-children -o/--one-shot -O/--only-cook: -p? -P/--pre-given: -q/--quote-characters: -r/--remember -R -s/--histsize: -S/--substitute-prompt:
 -t/--set-term-name: -U -v~ -w/--wait-before-prompt: -W/--polling? -z/--filter:u
caffeinate | safe wrapper | c | -dimsu -t: -w:
busybox,toybox | wrapper | c | --list~ --list-full~ --install:W --help~
ld.so | wrapper | c | --list~ --verify~ --inhibit-cache --library-path: --inhibit-rpath: --audit:x --preload:x --argv0: --glibc-hwcaps-prepend: --glibc-hwcaps-mask: --list-tunables~ --list-diagnostics~
setpriv | wrapper any | c | --reuid: --regid: --groups: --inh-caps: --ambient-caps: --bounding-set: --securebits: --pdeathsig: --selinux-label: --apparmor-profile: --clear-groups --keep-groups --init-groups --no-new-privs --nnp --reset-env -d~ --dump~
firejail | wrapper any | c | --
bwrap | wrapper =bwrap | c |  --
tini,catatonit | wrapper | c | -s -g -w -v -p: -e:
cpulimit | wrapper | c | -l/--limit: -p/--pid:~ -e/--exe:~ -P/--path:~ -b/--background -f/--foreground -c/--cpu: -i/--include-children -k/--kill -m/--monitor-forks -q/--quiet -r/--restore -s/--signal: -v/--verbose -z/--lazy
cgexec | wrapper | c | -g: --sticky
trickle | wrapper | c | -s -d: -u: -w: -t: -l: -n: -L: -P: -v
chpst,envuidgid,softlimit | wrapper | c | -u: -U: -b: -e:r -/:d -C:d -n: -l:w -L:w -m: -d: -o: -p: -f: -c: -t: -v -P -0 -1 -2
envdir,setlock | wrapper | r c | -nNxX
ccache,distcc,sccache,icecc | wrapper late | c | -s~ --show-stats~ -C! -c! -z! --clear!
start-stop-daemon | =daemon | -* | -S -K! -x/--exec: -a/--startas: -p/--pidfile:m -n/--name: -u/--user: -c/--chuid: -d/--chdir:d -b -m -q -v -t -o -R: -s: -g: -k: -N: -I: -P: --start --stop --background --make-pidfile --quiet
tmux,screen,zellij,byobu | =multiplexer | -* | --
`

// toolRows are tools of languages and projects that run another command.
const toolRows = `
npx,bunx,pnpx | runs | c | -y/--yes -p/--package: -c/--call:l -q/--quiet --no --no-install --bun --silent --ignore-existing -n/--node-arg: --prefer-offline --prefer-online --offline
 --node-options: --prefix:d -w/--workspace: --workspaces --include-workspace-root --shell:x --registry: --verbose
uvx | runs | c | --from: --with: --with-editable:r --with-requirements:r -p/--python: --isolated --no-cache -n --refresh --index-url/-i: --extra-index-url: --index: --offline -q/--quiet -v/--verbose --upgrade/-U --directory:d --no-config --env-file:r
pipx | alters | @ | -q/--quiet -v/--verbose --global
pipx run | runs | c | --spec: --python: --no-cache --pypackages --path -q -v --pip-args: --system-site-packages
pipx list | safe | -* | --short --json --include-injected
poetry,pipenv,hatch,pdm,rye,pixi | alters | @ | -C/--directory:d -P/--project:d -q/--quiet -n/--no-interaction -v -vv -vvv --ansi --no-ansi -V~ --no-plugins --no-cache
poetry run,pipenv run,pdm run,rye run,pixi run,hatch run | runs wrapper | c | -q -v -n -C/--directory:d -P/--project:d -e/--environment:
poetry show,poetry check,poetry env,pipenv graph,pdm list | safe | -* | -t/--tree -l/--latest -o/--outdated --all -a --top-level -T --only: --with: --without: --lock --json --reverse
uv | alters | @ | -q/--quiet -v/--verbose -n/--no-cache --directory:d --project:d --offline --color: --no-progress --no-config --config-file:r --cache-dir:w --native-tls -p/--python:
uv run | runs wrapper | c | --with: --with-editable:r --with-requirements:r -m/--module --extra: --all-extras --group: --only-group: --no-group: --no-default-groups --dev --no-dev --only-dev --isolated --active --no-sync --locked --frozen -s/--script
 --all-packages --package: --no-project --env-file:r --no-env-file -p/--python: --index: --index-url/-i: --extra-index-url: -U/--upgrade -P/--upgrade-package: --reinstall --refresh -n/--no-cache --offline -q/--quiet -v/--verbose --directory:d --project:d --no-editable --exact
uv tool,uv pip,uv python,uv cache | alters | @ | -q/--quiet -v/--verbose
uv tool run | runs | c | --from: --with: -p/--python: --isolated -q -v --index-url/-i: --no-cache
uv pip list,uv pip show,uv pip freeze,uv pip tree,uv pip check,uv tool list,uv python list,uv python find,uv tree,uv version | safe | -* | --outdated --format: --editable -e -q -v --depth: --universal --no-dev --only-installed --all-versions --show-paths --dry-run -d:
uv sync,uv lock,uv add,uv remove,uv venv,uv init,uv export,uv build,uv publish,uv pip install,uv pip sync,uv pip compile,uv pip uninstall,uv tool install,uv python install,uv tool uninstall,uv python pin,uv self | alters any | s* | -r/--requirement/--requirements:r -e/--editable:r -o/--output-file:w --extra: --group: --dev -p/--python: -c/--constraint:r --frozen --locked --all-extras --all-groups --no-dev --upgrade -U -P/--upgrade-package: --system --seed --clear --package: --directory:d --project:d -q -v --python-version: --index-url: --no-deps
bundle,bundler | alters | @ | --verbose --no-color
bundle exec,bundler exec | wrapper | c | --keep-file-descriptors --gemfile:x
bundle list,bundle show,bundle check,bundle outdated,bundle info | safe | -* | --paths --name-only --strict --dry-run --gemfile:r --path
rbenv exec,pyenv exec,nodenv exec,goenv exec,jenv exec,asdf exec,nodist exec | wrapper | c | --
rbenv,pyenv,nodenv,goenv,jenv,asdf,nodist | alters | @ | --
rbenv versions,rbenv version,pyenv versions,pyenv version,pyenv which,rbenv which,nodenv versions,asdf current,asdf list,asdf where,pyenv root | safe | -* | --bare
mise,rtx | alters | @ | -C/--cd:d -E/--env: -q/--quiet -v/--verbose -y/--yes
mise exec,mise x,rtx exec,rtx x | wrapper =tools | c | -c/--command:l -C/--cd:d -j/--jobs: --raw -q -v -y
mise ls,mise list,mise current,mise doctor,mise where,mise which,mise env | safe | -* | -c/--current -i/--installed -g/--global -J/--json --missing --prefix: -s/--shell:
mise run | runs | -* | --
direnv | alters | @ | --
direnv exec | runs wrapper | d c | --
direnv status | safe | | --json
nix-shell | runs | r* | --run/--command:l -p/--packages -A/--attr: -E/--expr: -I: --pure --impure --keep: -i: --arg: --argstr: --option: -j: -Q -v
nix | runs | @ | --extra-experimental-features/--experimental-features: --option: -v -L --print-build-logs --offline --refresh
nix develop,nix shell,nix run | runs late =nixcommand | -* | -c/--command -k/--keep: -i/--ignore-environment --impure --profile:w -f/--file:r -s: -u: -L -v
conda,mamba,micromamba | alters | @ | --
conda run,mamba run,micromamba run | wrapper | c | -n/--name: -p/--prefix:r -v --no-capture-output --live-stream -s --cwd:d --dev -d -e: -a:
conda list,conda info,mamba list,micromamba list,micromamba info | safe | -* | -n/--name: -p/--prefix:r -e/--export --json -f/--full-name --revisions
dotenv,dotenvx | wrapper =dotenv | c | -e:r -f/--file:r -o -c? -v: -p: --override --quiet -q
doppler,op,chamber,infisical | alters | @ | --
doppler run,op run,infisical run | wrapper | c | --command:l -p/--project: -c/--config: --env-file:r --env: --path: --account: --no-masking --preserve-env
aws-vault,saml2aws | alters | @ | --backend: --prompt: --debug
aws-vault exec,saml2aws exec,chamber exec | wrapper | - c | -d/--duration: -n/--no-session -j/--json -s/--server --region: --ec2-server -a: -p: --lazy --prompt:
cross-env,cross-env-shell | wrapper =crossenv | c | --
concurrently | wrapper | l* | -n/--names: -c/--prefix-colors: -p/--prefix: -k/--kill-others --kill-others-on-fail -s/--success: -r/--raw --no-color -m/--max-processes: --restart-tries: -P/--passthrough-arguments -l: -i -g/--group
nodemon | runs =nodemon | -* | -x/--exec:l -e/--ext: -w/--watch:R -i/--ignore: -q/--quiet -V/--verbose -d/--delay: -L/--legacy-watch -s/--signal: -I --config:x --on-change-only
watchexec | wrapper =watchexec | c | -w/--watch:R -W:R -e/--exts: -f/--filter: -i/--ignore: -c/--clear? -r/--restart -n -p/--postpone -q/--quiet -N/--notify -s/--signal: -d/--debounce: --shell: -E: -o/--on-busy-update: -v -1 --no-vcs-ignore --project-origin:d --workdir:d
chokidar | | R* | -c/--command:l -i/--ignore: -d: -t: -s --initial --silent --verbose --polling
cargo-watch,bacon | runs | -* | -x/--exec: -s/--shell:l -c -q -w/--watch:R -i/--ignore: -d/--delay:
reflex,air,gow,modd | runs =tools | c | -r: -g: -R: -G: -s -d: -v --
foreman,honcho,overmind,hivemind | runs | -* | -f:x -e:r -p: -d:d -m: -c:
just,task,mage,invoke,inv,fab,rake,ant,gulp,grunt,nx,turbo,lerna,earthly,dagger,pre-commit,lefthook,husky,tox,nox,act | runs | -* | -f/--justfile/--file:x -C:d -d/--dir:d -n/--dry-run -l/--list -q -v -j: --summary
capsh | =capsh | -* | --
`
