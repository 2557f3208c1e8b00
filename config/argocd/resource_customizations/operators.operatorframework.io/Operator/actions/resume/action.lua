-- A missing field is false, and belongs to nobody.
obj.spec.paused = nil
return obj
