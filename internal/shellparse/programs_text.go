package shellparse

// textRows are programs that read text and print text.
const textRows = `
grep,egrep,fgrep,zgrep,bzgrep,xzgrep,pcregrep,pcre2grep | safe | - r* | -abcEFGhHiIlLnNoOpPqsTuUvVwxyzZ0M -r/-R/--recursive/--dereference-recursive+ -e/--regexp:^ -f/--file:r^ -m/--max-count: -A/--after-context: -B/--before-context: -C/--context? -d/--directories: -D/--devices: -#
 --color? --colour? --count --include: --exclude: --exclude-dir: --include-dir: --exclude-from:r --files-with-matches --files-without-match --fixed-strings --extended-regexp --basic-regexp --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --only-matching --quiet --silent --no-messages --byte-offset
 --with-filename --no-filename --label: --line-number --initial-tab --null --text --binary-files: --line-buffered --null-data --binary
rg,ripgrep | safe | - R* | -abcFHhiIlLnNoPpqsSTuUvVwxZ.0 -z! -e/--regexp:^ -f/--file:r^ -m/--max-count: -A/--after-context: -B/--before-context: -C/--context: -d/--max-depth: -E/--encoding: -g/--glob: -M/--max-columns: -r/--replace: -t/--type: -T/--type-not: -j/--threads: -#
 --pre:l --pre-glob: --hostname-bin:l --iglob: --color: --colors: --column --count --count-matches --files^ --files-with-matches --files-without-match --fixed-strings --follow --heading --no-heading --hidden --no-hidden --ignore-case --ignore-file:r --invert-match --json --line-number --no-line-number --line-regexp
 --max-filesize: --multiline --multiline-dotall --no-filename --with-filename --no-ignore --no-ignore-vcs --no-ignore-parent --no-config --no-messages --null --one-file-system --only-matching --passthru --pcre2 --pretty --quiet --smart-case --case-sensitive --sort: --sortr: --stats --text --trim --type-list^ --type-add: --unrestricted --vimgrep --word-regexp --context-separator: --path-separator: --field-match-separator: --crlf --binary --search-zip! --debug --engine: --block-buffered --line-buffered --glob-case-insensitive --no-require-git --include-zero --null-data --mmap --no-mmap --dfa-size-limit: --regex-size-limit: --max-columns-preview --version~
ag,ack,ugrep | safe any | - R* | -acfFghHilLnopqQrRsSuvwW -A: -B: -C: -G: -m: -g: --pager:l
sort | safe | r* | -bdfghiMnRrVcCmsuz -k/--key: -t/--field-separator: -o/--output:w -S/--buffer-size: -T/--temporary-directory:w --compress-program:l --files0-from:r --random-source:r --parallel: --batch-size: --sort: --check? --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting
 --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --version-sort --debug --merge --stable --unique --zero-terminated
uniq | safe | r w | -cdDiuz -f/--skip-fields: -s/--skip-chars: -w/--check-chars: --count --repeated --all-repeated? --group? --ignore-case --unique --zero-terminated
cut | safe | r* | -b/--bytes: -c/--characters: -d/--delimiter: -f/--fields: -n -s/--only-delimited -z/--zero-terminated -w --complement --output-delimiter:
paste,join,fmt,fold,expand,unexpand,column,pr,tsort,ptx,nl,rev | safe | r* | -acCeimnrsStuvxz1 -d/--delimiters: -w/--width: -o: -j: -t/--tabs/--separator/--table: -1: -2: -b: -f: -h: -i: -l: -N: -R: -v: -p: -g: -y: -# --serial --zero-terminated --table-columns: --output-separator: --json --header --check-order --nocheck-order --spaces --bytes --first-only --all
column | safe | r* | -tnxeJLdm -c/--output-width/--columns: -s/--separator: -o/--output-separator: -N/--table-columns: -R/--table-right: -T/--table-truncate: -H/--table-hide: -W/--table-wrap: -O/--table-order: -n/--table-name: -E: -r/--tree: -i/--tree-id: -p/--tree-parent: -l/--table-columns-limit: --table --json --fillrows --table-noheadings
logger | alters any | -* | -f/--file:r -t/--tag: -p/--priority: -n/--server: -P/--port: -u/--socket:w -i -s -e -d -T
iconv | safe | r* | -f/--from-code: -t/--to-code: -o/--output:w -c -s -l --list
tr | safe | -* | -cCdst --complement --delete --squeeze-repeats --truncate-set1
seq,factor,expr,numfmt,nproc,sleep,yes,jot,units | safe any | -* | -f: -s: -w -#
shuf | safe | r* | -e/--echo^ -i/--input-range: -n/--head-count: -o/--output:w -r/--repeat -z --random-source:r --zero-terminated
bc,dc | =calculator | r* | -hilqsvw -e/--expression: -f/--file:r -l/--mathlib -q/--quiet
date | safe =date | -* | -Iujn -d/--date: -f/--file:r -r/--reference:r -s/--set:! -R -v: --iso-8601? --rfc-3339: --rfc-email --utc --universal --debug --resolution
tee | =tee | w* | -a/--append -i/--ignore-interrupts -p --output-error?
sponge | | w | -a
csplit | =split | r -* | -b/--suffix-format: -f/--prefix: -n/--digits: -k -s -z --keep-files --quiet --silent --elide-empty-files --suppress-matched
split | =split | r w | -a/--suffix-length: -b/--bytes: -C/--line-bytes: -d -x -e -l/--lines: -n/--number: -t/--separator: -u -f/--prefix: -k -s -z -p: --additional-suffix: --filter:l --numeric-suffixes? --hex-suffixes? --verbose --elide-empty-files --unbuffered --keep-files --quiet --suffix-format: -#
base64,base32,basenc,uuencode | safe | r* | -d/--decode/-D -i/--ignore-garbage -w/--wrap: -b: --input:r --output:w -o:w --base64 --base64url --base32 --base16 --z85
jq,gojq,jaq | safe | - r* | -cCMaSjnrReshV -f/--from-file:r^ -L:x --arg:-2 --argjson:-2 --slurpfile:r2 --rawfile:r2 --args --jsonargs --tab --indent: --stream --stream-errors --seq --exit-status --compact-output --null-input --raw-input --slurp --raw-output --join-output --raw-output0 --ascii-output --color-output --monochrome-output --sort-keys --unbuffered --binary -b
yq | safe =yq | - r* | -cCMPrejnNsvSy -i/--inplace/--in-place> -o/--output-format/--output: -p/--input-format: -I/--indent: -P/--prettyPrint -e/--exit-status -n/--null-input -s/--split-exp:! --from-file:r^ -r/--raw-output --arg: --argjson: -f:r -t -Y -x -X -S --no-doc --unwrapScalar? --front-matter: -M/--no-colors -C/--colors --xml-attribute-prefix:
xmllint | safe any | r* | --xpath: -o/--output:w --format --noout --schema:r -
xsltproc,xmlstarlet | alters | s* | -o/--output:w
csvcut,csvlook,csvgrep,csvstat,csvsort,xsv,mlr,qsv,miller,hck,choose,gron,htmlq,pup | any | r* | -o:w -c: -d: -I>
fzf,sk,peco,gum | =fzf | -* | --
man,apropos,whatis,info,tldr,cheat | safe | -* | -afiklKPwWDd7utZ -P/--pager:l -C/--config-file:r -H/--html?l -M/--manpath:r -S/-s/--sections: -m: -L: -r: -e: -E: -p: -R: -X? -T? --all --where --apropos --whatis --local-file --path --no-pager
id,whoami,uname,pwdx,getent,locale,getconf,lsb_release,sw_vers,tput,clear,reset,ps,pgrep,pidof,pstree,top,htop,lsof,ss,netstat,last,lastlog,finger,acpi,free,sensors,nvidia-smi,lshw,hwinfo,dmidecode,blkid,findmnt,ulimit | safe any | -* | -aefuxlmnopqrstwvAFHLT -o: -C: -p: -u: -k: -i! -K! -c:
hostname,domainname | safe =hostname | -* | -aAdfiIsy -F:r -b! --fqdn --short --ip-address --all-ip-addresses --long --domain
printenv | | -* | -0/--null
diffstat,cloc,tokei,scc,wdiff,cal,ncal,figlet,cowsay,banner,lolcat,fortune,toilet | safe any | r* | -p:
pv | safe | r* | -ptebrnqfaTAWcI -s: -L: -N: -i: -w: -H: -B: -l -S -o/--output:w
pandoc | | r* | -f/--from/-r/--read: -t/--to/-w/--write: -o/--output:w -s/--standalone -d/--defaults:x --template:r -F/--filter:x -L/--lua-filter:x --pdf-engine:x -M/--metadata: -V/--variable: --toc --wrap: --columns: -c/--css:r -H:r -B:r -A:r --extract-media:W -N --metadata-file:r --reference-doc:r --bibliography:r --citeproc --self-contained --embed-resources --list-input-formats~
open,xdg-open,start,explorer,code,cursor,subl,atom,idea,gio | runs | s* | -a: -n -g -W -R -e -t -w -r -b:
pbcopy,xclip,xsel,wl-copy,pbpaste,wl-paste | alters | -* | -o -i -b
notify-send,say,wall,write,mail,mailx,sendmail | alters | s* | -s: -a: -r: -f: -t -p: -c: -u: -i: -t: -e -d
`
