-- erase: epoch, seqs
local was = redis.call('HMGET', SESSION, 'head', 'deleted', 'parent_seq')
if not was[1] then
  return {'missing'}
end
local refused = not was[2] and fenced(ARGV[3]) -- nobody writes to what is deleted
if refused then
  return refused
end
local head, parent_seq = tonumber(was[1]), tonumber(was[3] or '0')
for i = 4, #ARGV do
  local seq = tonumber(ARGV[i])
  if seq <= parent_seq or seq > head then
    return {'no record', ARGV[i]}
  end
end

for i = 4, #ARGV do
  local at = tonumber(ARGV[i]) - parent_seq - 1
  local record = redis.call('LINDEX', RECORDS, at)
  if record and #record >= 117 and string.byte(record, 2) == 0 then
    local front = 117 + string.byte(record, 3) * 256 + string.byte(record, 4) + string.byte(record, 5)
    redis.call('LSET', RECORDS, at, string.sub(record, 1, 1) .. '\1' .. string.sub(record, 3, front))
  end
end
redis.call('HSET', SESSION, 'head', was[1])
return {'ok'}
