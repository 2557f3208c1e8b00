-- This kind has no status.observedGeneration: each condition says for which generation it was set.
local health_status = {status = "Progressing", message = "Waiting for catalogd to report on this generation"}
if obj.status == nil or obj.status.conditions == nil then
  return health_status
end

local conditions = {}
for _, condition in ipairs(obj.status.conditions) do
  if condition.observedGeneration == obj.metadata.generation then
    conditions[condition.type] = condition
  end
end
local progressing = conditions.Progressing
if progressing == nil then
  return health_status
end
local serving = conditions.Serving or {status = "Unknown", reason = "", message = ""}
health_status.message = progressing.message

if obj.metadata.deletionTimestamp ~= nil then
  health_status.status = "Progressing"
elseif progressing.status == "False" then
  health_status.status = "Degraded"
elseif progressing.reason == "Succeeded" then
  if serving.status == "True" or serving.reason == "UserSpecifiedUnavailable" then
    health_status.status = "Healthy"
  end
  health_status.message = serving.message
end
return health_status
